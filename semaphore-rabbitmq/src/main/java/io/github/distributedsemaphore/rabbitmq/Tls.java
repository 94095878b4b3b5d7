package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.spi.support.BackendUri;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** What a client trusts, and what it shows: files in PEM. The client library's own default would trust all. */
final class Tls {
    private static final Pattern KEY =
            Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");

    private Tls() {}

    /** Reads the settings; null if the connection is not encrypted, and then none of them may be given. */
    static @Nullable SSLContext from(BackendUri uri, boolean encrypted) {
        String ca = uri.text("ca", "");
        String certificate = uri.text("certificate", "");
        String key = uri.text("key", "");
        if (!encrypted) {
            if (!(ca + certificate + key).isEmpty()) {
                throw new IllegalArgumentException(
                        "Settings 'ca', 'certificate' and 'key' are for amqps:, not for amqp:");
            }
            return null;
        }
        if (certificate.isEmpty() != key.isEmpty()) {
            throw new IllegalArgumentException(
                    "Settings 'certificate' and 'key' belong together: give both, or neither");
        }
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(
                    certificate.isEmpty() ? null : identity(certificate, key), ca.isEmpty() ? null : trust(ca), null);
            return context;
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalArgumentException("TLS cannot be set up: " + e.getMessage(), e);
        }
    }

    private static TrustManager[] trust(String ca) throws IOException, GeneralSecurityException {
        KeyStore store = emptyStore();
        int number = 0;
        for (Certificate certificate : certificates("ca", ca)) {
            store.setCertificateEntry("ca" + number++, certificate);
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        return trust.getTrustManagers();
    }

    private static KeyManager[] identity(String certificate, String key) throws IOException, GeneralSecurityException {
        Collection<? extends Certificate> chain = certificates("certificate", certificate);
        String algorithm = chain.iterator().next().getPublicKey().getAlgorithm();
        KeyStore store = emptyStore();
        store.setKeyEntry("client", key(key, algorithm), new char[0], chain.toArray(Certificate[]::new));
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, new char[0]);
        return keys.getKeyManagers();
    }

    private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static Collection<? extends Certificate> certificates(String setting, String file) {
        try (InputStream in = Files.newInputStream(Path.of(file))) {
            Collection<? extends Certificate> found =
                    CertificateFactory.getInstance("X.509").generateCertificates(in);
            if (found.isEmpty()) {
                throw new CertificateException("it has none");
            }
            return found;
        } catch (IOException | CertificateException e) {
            throw unreadable(setting, file, "PEM certificates", e);
        }
    }

    private static PrivateKey key(String file, String algorithm) {
        try {
            Matcher key = KEY.matcher(Files.readString(Path.of(file), StandardCharsets.ISO_8859_1));
            if (!key.find()) {
                throw new GeneralSecurityException("it has no -----BEGIN PRIVATE KEY-----; convert it with:"
                        + " openssl pkcs8 -topk8 -nocrypt -in OLD -out NEW");
            }
            byte[] encoded = Base64.getMimeDecoder().decode(key.group(1));
            return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(encoded));
        } catch (IOException | GeneralSecurityException e) {
            throw unreadable("key", file, "a private key in PEM (PKCS #8, without a password)", e);
        }
    }

    private static IllegalArgumentException unreadable(String setting, String file, String expected, Exception e) {
        return new IllegalArgumentException(
                "Setting '" + setting + "': '" + file + "' cannot be read as " + expected + ": " + e.getMessage(), e);
    }
}
