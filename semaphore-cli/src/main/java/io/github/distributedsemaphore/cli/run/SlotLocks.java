package io.github.distributedsemaphore.cli.run;

import io.github.distributedsemaphore.spi.support.BackendUri;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

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

    /**
     * Returns the lock files of some slots. Whatever the order of the slots, the files come in one order, in which all runs take
     * the locks: else two watches could wait for each other without end.
     */
    static List<Path> of(String backend, String name, Collection<Integer> slots) throws IOException {
        Path folder = folder();
        String semaphore = nameSpace(backend, System::getenv) + "\n" + name + "\n";
        return slots.stream()
                .map(slot -> folder.resolve(hash(semaphore + slot)))
                .sorted()
                .toList();
    }

    /**
     * Returns what tells a semaphore from others of its name: the address, and those settings that are a part of where it is stored.
     * Runs that differ in a time-out, say, share their locks.
     */
    static String nameSpace(String backend, UnaryOperator<@Nullable String> environment) {
        BackendUri uri = BackendUri.parse(backend);
        String prefix = uri.text("prefix", uri.scheme().startsWith("redis") ? "semaphore" : "");
        String directory = uri.scheme().equals("local") && uri.path().isEmpty() ? stateDirectory(environment) : "";
        return String.join(
                "\n",
                uri + directory,
                prefix,
                uri.text("master", ""),
                uri.text("dc", ""),
                // The search path of PostgreSQL may name a schema for each user.
                uri.scheme().equals("postgresql") ? uri.user() : uri.text("user", ""),
                uri.text("schema", ""),
                uri.text("table", "semaphores"));
    }

    /** The directory that {@code local:} stands for, by the same rules as in the local backend. */
    private static String stateDirectory(UnaryOperator<@Nullable String> environment) {
        String state = environment.apply("XDG_STATE_HOME");
        Path parent = state != null && Path.of(state).isAbsolute()
                ? Path.of(state)
                : Path.of(System.getProperty("user.home", ""), ".local", "state");
        return parent.resolve("distributed-semaphore").toString();
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
