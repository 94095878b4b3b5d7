package io.github.distributedsemaphore.redis;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A certificate that vouches for itself, and its key, as files of PEM, made by the JDK's keytool.
 *
 * @param certificate whom to trust, or what to show
 * @param key unencrypted, PKCS #8
 */
record Identity(Path certificate, Path key) {
    static final String PASSWORD = "changeit";

    /**
     * Makes one.
     *
     * @param names which hosts it is for, as keytool writes them: {@code dns:localhost,ip:127.0.0.1}
     */
    static Identity make(Path folder, String name, String names) throws Exception {
        Path store = folder.resolve(name + ".p12");
        Process keytool = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-genkeypair",
                        "-alias",
                        "it",
                        "-keyalg",
                        "EC",
                        "-dname",
                        "CN=" + name,
                        "-ext",
                        "san=" + names,
                        "-validity",
                        "2",
                        "-storetype",
                        "PKCS12",
                        "-keystore",
                        store.toString(),
                        "-storepass",
                        PASSWORD))
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve(name + ".log").toFile())
                .start();
        if (!keytool.waitFor(60, TimeUnit.SECONDS) || keytool.exitValue() != 0) {
            keytool.destroyForcibly();
            throw new IOException("keytool: " + Files.readString(folder.resolve(name + ".log")));
        }
        return read(store, folder, name);
    }

    private static Identity read(Path store, Path folder, String name) throws IOException, GeneralSecurityException {
        KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
        Path certificate = folder.resolve(name + ".crt");
        Path key = folder.resolve(name + ".key");
        Files.writeString(
                certificate, pem("CERTIFICATE", keys.getCertificate("it").getEncoded()));
        Files.writeString(
                key,
                pem("PRIVATE KEY", keys.getKey("it", PASSWORD.toCharArray()).getEncoded()));
        return new Identity(certificate, key);
    }

    private static String pem(String what, byte[] content) {
        String text = Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII))
                .encodeToString(content);
        return "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what + "-----\n";
    }
}
