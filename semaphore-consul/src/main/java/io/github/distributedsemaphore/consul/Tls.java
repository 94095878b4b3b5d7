package io.github.distributedsemaphore.consul;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Collection;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** Whom a client trusts, and by what it shows who it is: files in PEM, as {@code consul tls} makes them. */
final class Tls {
    private Tls() {}

    /** Makes a context; a file that is not given by its name, an empty text, is done without. */
    static SSLContext context(String ca, String certificate, String keyFile) {
        if (certificate.isEmpty() != keyFile.isEmpty()) {
            throw new IllegalArgumentException("Settings 'certificate' and 'key' belong together: give both or none");
        }
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(
                    certificate.isEmpty() ? null : identity(certificate, keyFile),
                    ca.isEmpty() ? null : trust(ca),
                    null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalArgumentException("TLS cannot be set up: " + e.getMessage(), e);
        }
    }

    private static TrustManager[] trust(String ca) throws GeneralSecurityException {
        KeyStore store = emptyStore();
        int number = 0;
        for (Certificate certificate : certificates("ca", ca)) {
            store.setCertificateEntry("ca" + number++, certificate);
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        return trust.getTrustManagers();
    }

    private static KeyManager[] identity(String certificate, String keyFile) throws GeneralSecurityException {
        Collection<? extends Certificate> chain = certificates("certificate", certificate);
        KeyStore store = emptyStore();
        PrivateKey key = key(keyFile, chain.iterator().next().getPublicKey());
        store.setKeyEntry("client", key, new char[0], chain.toArray(Certificate[]::new));
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, new char[0]);
        return keys.getKeyManagers();
    }

    private static KeyStore emptyStore() throws GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try {
            store.load(null, null);
        } catch (IOException e) {
            throw new IllegalStateException("nothing is read", e);
        }
        return store;
    }

    private static Collection<? extends Certificate> certificates(String setting, String file) {
        try (InputStream in = Files.newInputStream(Path.of(file))) {
            Collection<? extends Certificate> found =
                    CertificateFactory.getInstance("X.509").generateCertificates(in);
            if (found.isEmpty()) {
                throw unreadable(setting, file, "certificates in PEM", "there is none", null);
            }
            return found;
        } catch (IOException | GeneralSecurityException e) {
            throw unreadable(setting, file, "certificates in PEM", e.toString(), e);
        }
    }

    private static PrivateKey key(String file, PublicKey belongsTo) {
        try {
            return PemKey.read(Files.readString(Path.of(file), StandardCharsets.US_ASCII), belongsTo);
        } catch (IOException | GeneralSecurityException e) {
            throw unreadable("key", file, "a private key in PEM without a password", e.toString(), e);
        }
    }

    private static IllegalArgumentException unreadable(
            String setting, String file, String expected, String reason, @Nullable Exception cause) {
        return new IllegalArgumentException(
                "Setting '" + setting + "': '" + file + "' cannot be read as " + expected + ": " + reason, cause);
    }
}
