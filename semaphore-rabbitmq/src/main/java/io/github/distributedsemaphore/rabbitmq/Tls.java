package io.github.distributedsemaphore.rabbitmq;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Which certificates a client trusts. The client library's own default would trust all. */
final class Tls {
    private Tls() {}

    static SSLContext trusting(String ca) {
        try {
            if (ca.isEmpty()) {
                return SSLContext.getDefault();
            }
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(certificates(Path.of(ca)));
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException | IOException e) {
            throw new IllegalArgumentException(
                    "Setting 'ca': '" + ca + "' cannot be read as PEM certificates: " + e.getMessage(), e);
        }
    }

    private static KeyStore certificates(Path file) throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (InputStream in = Files.newInputStream(file)) {
            int number = 0;
            for (Certificate certificate :
                    CertificateFactory.getInstance("X.509").generateCertificates(in)) {
                store.setCertificateEntry("ca" + number++, certificate);
            }
        }
        return store;
    }
}
