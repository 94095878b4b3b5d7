package io.github.distributedsemaphore.spi.support;

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
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.util.Collection;
import java.util.Optional;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * What a client trusts and what it shows over TLS. It comes from PEM files that the settings {@code ca}, {@code certificate} and
 * {@code key} name, or from managers that the application hands to the builder. Immutable.
 */
public final class TlsSettings {
    private final @Nullable TrustManagerFactory trust;
    private final @Nullable KeyManagerFactory identity;

    private TlsSettings(@Nullable TrustManagerFactory trust, @Nullable KeyManagerFactory identity) {
        this.trust = trust;
        this.identity = identity;
    }

    /**
     * Reads the settings, and the files that they name.
     *
     * @param uri where the settings are
     * @param encrypted whether the scheme of the URI asks for TLS
     * @param encryptedScheme the scheme that does, for the message
     * @return empty for a connection in clear text
     * @throws IllegalArgumentException if TLS settings are given for a connection in clear text, if {@code certificate} or
     *     {@code key} lacks the other, if a file cannot be read as PEM, or if both a file and managers are given
     */
    public static Optional<TlsSettings> from(BackendUri uri, boolean encrypted, String encryptedScheme) {
        String ca = uri.text("ca", "");
        String certificate = uri.text("certificate", "");
        String key = uri.text("key", "");
        TrustManagerFactory givenTrust = uri.trustManagers();
        KeyManagerFactory givenIdentity = uri.keyManagers();
        if (!encrypted) {
            if (!(ca + certificate + key).isEmpty() || givenTrust != null || givenIdentity != null) {
                throw new IllegalArgumentException(
                        "Settings 'ca', 'certificate' and 'key', and managers for TLS, are for"
                                + " encrypted connections: write " + encryptedScheme + ": instead of " + uri.scheme()
                                + ":");
            }
            return Optional.empty();
        }
        if (certificate.isEmpty() != key.isEmpty()) {
            throw new IllegalArgumentException(
                    "Settings 'certificate' and 'key' belong together: give both, or neither");
        }
        refuseBoth("ca", ca, givenTrust);
        refuseBoth("certificate", certificate, givenIdentity);
        try {
            return Optional.of(new TlsSettings(
                    ca.isEmpty() ? givenTrust : trust(ca),
                    certificate.isEmpty() ? givenIdentity : identity(certificate, key)));
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalArgumentException("TLS cannot be set up: " + e.getMessage(), e);
        }
    }

    private static void refuseBoth(String setting, String file, @Nullable Object managers) {
        if (!file.isEmpty() && managers != null) {
            throw new IllegalArgumentException("Setting '" + setting + "' is '" + file
                    + "', and managers for the same are given to the builder: give one of them");
        }
    }

    /**
     * Returns what the client trusts.
     *
     * @return empty for the authorities of the JVM
     */
    public Optional<TrustManagerFactory> trust() {
        return Optional.ofNullable(trust);
    }

    /**
     * Returns what the client shows.
     *
     * @return empty to show no certificate
     */
    public Optional<KeyManagerFactory> identity() {
        return Optional.ofNullable(identity);
    }

    /**
     * Makes a context of it.
     *
     * @return a new context
     */
    public SSLContext context() {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(
                    identity == null ? null : identity.getKeyManagers(),
                    trust == null ? null : trust.getTrustManagers(),
                    null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalArgumentException("TLS cannot be set up: " + e.getMessage(), e);
        }
    }

    private static TrustManagerFactory trust(String ca) throws IOException, GeneralSecurityException {
        KeyStore store = emptyStore();
        int number = 0;
        for (Certificate certificate : certificates("ca", ca)) {
            store.setCertificateEntry("ca" + number++, certificate);
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        return trust;
    }

    private static KeyManagerFactory identity(String certificate, String keyFile)
            throws IOException, GeneralSecurityException {
        Collection<? extends Certificate> chain = certificates("certificate", certificate);
        PrivateKey key = key(keyFile, chain.iterator().next().getPublicKey());
        KeyStore store = emptyStore();
        store.setKeyEntry("client", key, new char[0], chain.toArray(Certificate[]::new));
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, new char[0]);
        return keys;
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
                throw new CertificateException("there is none");
            }
            return found;
        } catch (IOException | CertificateException e) {
            throw unreadable(setting, file, "certificates in PEM", e);
        }
    }

    private static PrivateKey key(String file, PublicKey belongsTo) {
        try {
            return PemKey.read(Files.readString(Path.of(file), StandardCharsets.ISO_8859_1), belongsTo);
        } catch (IOException | GeneralSecurityException e) {
            throw unreadable("key", file, "a private key in PEM without a password", e);
        }
    }

    private static IllegalArgumentException unreadable(String setting, String file, String expected, Exception e) {
        return new IllegalArgumentException(
                "Setting '" + setting + "': '" + file + "' cannot be read as " + expected + ": " + e, e);
    }
}
