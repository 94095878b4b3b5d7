package io.github.distributedsemaphore.rabbitmq;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;

/** A certificate for 127.0.0.1 that nobody has signed but itself, in the form that the broker reads. */
final class Certificate {
    private static final String PASSWORD = "changeit";

    private Certificate() {}

    static Path file(Path folder) {
        return folder.resolve("certificate.pem");
    }

    static Path key(Path folder) {
        return folder.resolve("key.pem");
    }

    static void make(Path folder) throws IOException {
        Path store = folder.resolve("store.p12");
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "it",
                "-keyalg",
                "EC",
                "-dname",
                "CN=a test",
                "-ext",
                "san=ip:127.0.0.1",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD);
        Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
        try (InputStream said = keytool.getInputStream()) {
            byte[] words = said.readAllBytes();
            if (keytool.waitFor() != 0) {
                throw new IllegalStateException("keytool failed: " + new String(words, StandardCharsets.UTF_8));
            }
            KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
            write(file(folder), "CERTIFICATE", keys.getCertificate("it").getEncoded());
            write(
                    key(folder),
                    "PRIVATE KEY",
                    keys.getKey("it", PASSWORD.toCharArray()).getEncoded());
        } catch (GeneralSecurityException | InterruptedException e) {
            throw new IllegalStateException("no certificate could be made", e);
        }
    }

    private static void write(Path file, String kind, byte[] content) throws IOException {
        String text = Base64.getMimeEncoder().encodeToString(content);
        Files.writeString(file, "-----BEGIN " + kind + "-----\n" + text + "\n-----END " + kind + "-----\n");
    }
}
