package io.github.distributedsemaphore.cli.run;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;

/**
 * A lock file for each slot that this user's {@code semaphore run} has held on this machine. A run's death watch holds the
 * locks of its slots until the command is gone, also when the run itself was killed; the next holder's command waits for
 * them. So a slot that a backend frees the moment its holder dies does not have two commands for the milliseconds that the
 * kill takes.
 *
 * <p>The files are empty and stay: a lock file that is deleted while somebody waits for it is two lock files.
 */
final class SlotLocks {
    private SlotLocks() {}

    static List<Path> of(String backend, String name, List<Permit> permits) throws IOException {
        Path folder = folder();
        return permits.stream()
                .map(permit -> folder.resolve(hash(BackendUri.parse(backend) + "\n" + name + "\n" + permit.slot())))
                .toList();
    }

    /** Makes the folder if it is missing; see {@link PrivateFolder#prepare}. */
    static Path folder() throws IOException {
        return PrivateFolder.prepare(
                Path.of(System.getProperty("java.io.tmpdir"), "semaphore-run-" + System.getProperty("user.name")));
    }

    private static String hash(String key) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(key.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest, 0, 16);
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every Java platform has SHA-256", e);
        }
    }
}
