package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.io.IOException;
import java.util.Set;

/**
 * Semaphores for the processes of one user on one machine, without a server: {@code local:/path}, or {@code local:} for a
 * directory of the user's own, {@code $XDG_STATE_HOME/distributed-semaphore}, by default {@code
 * ~/.local/state/distributed-semaphore}.
 *
 * <p>Each semaphore is a table of slots, and a client that holds some keeps a byte of the table locked (POSIX {@code fcntl},
 * exclusive): the lock ends with the process however that dies, and the holds with it. A waiter learns of a release in order by the directory's change events, on Linux inotify; that a
 * holder was killed tells nobody, so one waiting process asks again every quarter of {@code detection}, at most every tenth of a second, and each other one after
 * 50 to 75 % of {@code detection}. Processes that a holder starts do
 * not inherit its locks.
 *
 * <p>Settings: {@code detection} (100ms to 1m, by default 1s), within which a waiter gets the slot of a process that died;
 * {@code timeout} (200ms to 5m, by default 5s), within which a call to the backend ends, also when the process that has the
 * lock of an operation is stopped; {@code allowNetworkFileSystem} (true or false, by default false), see {@code docs/backends/local.md}.
 *
 * <p>Needs a file system with POSIX permissions and locks: Linux or macOS. Thread-safe.
 */
public final class LocalBackendProvider implements BackendProvider {
    /** Creates it, for {@link java.util.ServiceLoader}. */
    public LocalBackendProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("local");
    }

    /**
     * Finds or makes the directory and checks that it is private. Does nothing else with it and waits for no lock.
     *
     * @throws IllegalArgumentException also if the directory is on a network file system or one without POSIX permissions
     * @throws io.github.distributedsemaphore.BackendAccessException if others may write the directory, it belongs to
     *     somebody else, or this user may not make it
     * @throws io.github.distributedsemaphore.BackendUnavailableException if it cannot be made or looked at
     * @throws io.github.distributedsemaphore.IncompatibleStateException if there is a file in its place; that the directory is of
     *     another version is found out by the first call
     */
    @Override
    public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
        LocalSettings settings = LocalSettings.from(uri, self);
        // An interrupt does not keep files from being looked at, and is left as it is.
        try {
            return new LocalBackend(StateDirectory.open(StateDirectoryCheck.prepare(settings)), settings);
        } catch (IOException e) {
            throw Call.failure("State directory " + settings.directory(), e);
        }
    }
}
