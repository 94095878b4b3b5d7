package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.spi.support.BackendUri;
import io.lettuce.core.SslOptions;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What TLS is to trust and to show, in PEM files.
 *
 * @param ca the authorities that may sign the server's certificate; null for those of the JVM
 * @param certificate our own, with its chain; null to show none
 * @param key its key, PKCS #8, not encrypted; null to show none
 */
record TlsFiles(
        @Nullable File ca,
        @Nullable File certificate,
        @Nullable File key) {
    private static final String CA = "ca";
    private static final String CERTIFICATE = "certificate";
    private static final String KEY = "key";
    private static final String KEY_BEGINS = "-----BEGIN PRIVATE KEY-----";

    /** Reads the settings; empty if the connection is not encrypted, and then none of them may be given. */
    static Optional<TlsFiles> from(BackendUri uri, boolean encrypted) {
        TlsFiles files = new TlsFiles(file(uri, CA), file(uri, CERTIFICATE), file(uri, KEY));
        if (!encrypted) {
            if (files.ca != null || files.certificate != null || files.key != null) {
                throw new IllegalArgumentException("Settings '" + CA + "', '" + CERTIFICATE + "' and '" + KEY
                        + "' are for encrypted connections: write rediss: instead of redis:");
            }
            return Optional.empty();
        }
        if ((files.certificate == null) != (files.key == null)) {
            throw new IllegalArgumentException(
                    "Settings '" + CERTIFICATE + "' and '" + KEY + "' belong together: give both, or neither");
        }
        requireCertificates(CA, files.ca);
        requireCertificates(CERTIFICATE, files.certificate);
        requireKey(files.key);
        return Optional.of(files);
    }

    private static @Nullable File file(BackendUri uri, String name) {
        String path = uri.text(name, "");
        if (path.isEmpty()) {
            return null;
        }
        File file = new File(path);
        if (!file.isFile() || !file.canRead()) {
            throw new IllegalArgumentException(
                    "Setting '" + name + "' is '" + path + "', which is no file that can be read");
        }
        return file;
    }

    private static void requireCertificates(String name, @Nullable File file) {
        if (file == null) {
            return;
        }
        try (InputStream in = Files.newInputStream(file.toPath())) {
            if (!CertificateFactory.getInstance("X.509")
                    .generateCertificates(in)
                    .isEmpty()) {
                return;
            }
        } catch (IOException | CertificateException e) {
            throw new IllegalArgumentException(
                    "Setting '" + name + "': '" + file + "' holds no certificates in PEM: " + e.getMessage(), e);
        }
        throw new IllegalArgumentException("Setting '" + name + "': '" + file + "' holds no certificate");
    }

    private static void requireKey(@Nullable File file) {
        try {
            if (file != null
                    && !Files.readString(file.toPath(), StandardCharsets.ISO_8859_1)
                            .contains(KEY_BEGINS)) {
                throw new IllegalArgumentException("Setting '" + KEY + "': '" + file + "' holds no '" + KEY_BEGINS
                        + "'; convert the key with: openssl pkcs8 -topk8 -nocrypt -in OLD -out NEW");
            }
        } catch (IOException e) {
            throw new IllegalArgumentException("Setting '" + KEY + "': '" + file + "' cannot be read", e);
        }
    }

    SslOptions options(Duration timeout) {
        SslOptions.Builder options = SslOptions.builder().jdkSslProvider().handshakeTimeout(timeout);
        if (ca != null) {
            options.trustManager(ca);
        }
        if (certificate != null && key != null) {
            options.keyManager(certificate, key, new char[0]);
        }
        return options.build();
    }
}
