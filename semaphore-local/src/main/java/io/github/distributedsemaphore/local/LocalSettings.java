package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * How a client uses a state directory.
 *
 * @param directory as it was given
 * @param detection within which time a waiter gets the slot of a process that died
 * @param timeout within which time a call to the backend ends, whoever has the mutex
 * @param allowNetworkFileSystem whether the directory may be on another machine
 * @param self what to store beside each hold
 */
record LocalSettings(
        Path directory, Duration detection, Duration timeout, boolean allowNetworkFileSystem, HolderInfo self) {
    /** How often a holder looks whether the table is still in its place and its entry its own. */
    static final Duration RENEW_EVERY = Duration.ofMillis(500);

    private static final Duration LONGEST_RECHECK = Duration.ofMillis(100);

    static LocalSettings from(BackendUri uri, HolderInfo self) {
        if (!uri.hosts().isEmpty() || !uri.user().isEmpty()) {
            throw new IllegalArgumentException("The local backend is on no host: write " + uri.scheme()
                    + ":/path with one slash, or " + uri.scheme() + ": for the user's own directory");
        }
        Duration detection =
                uri.duration("detection", Duration.ofSeconds(1), Duration.ofMillis(100), Duration.ofMinutes(1));
        Duration timeout =
                uri.duration("timeout", Duration.ofSeconds(5), Duration.ofMillis(200), Duration.ofMinutes(5));
        boolean network = uri.flag("allowNetworkFileSystem", false);
        Path directory = uri.path().isEmpty()
                ? defaultDirectory(System::getenv, System.getProperty("user.home", ""))
                : Path.of(uri.path());
        if (!directory.isAbsolute()) {
            throw new IllegalArgumentException("The state directory '" + directory
                    + "' is relative: processes started elsewhere would not share it; write local:/path");
        }
        return new LocalSettings(directory, detection, timeout, network, self);
    }

    /** Returns where state goes that nobody gave a place: the XDG Base Directory Specification's place for a user's state. */
    static Path defaultDirectory(UnaryOperator<@Nullable String> environment, String home) {
        String state = environment.apply("XDG_STATE_HOME");
        // The specification has relative paths ignored.
        if (state != null && Path.of(state).isAbsolute()) {
            return Path.of(state, "distributed-semaphore");
        }
        if (home.isEmpty() || !Path.of(home).isAbsolute()) {
            throw new IllegalArgumentException("This user has no home directory: give the state's, as in local:/path");
        }
        return Path.of(home, ".local", "state", "distributed-semaphore");
    }

    /**
     * Returns after which time a refused waiter asks again: nothing tells it that a holder was killed.
     *
     * @param lookout whether it is the one process among the waiting that does so often; the others are there for when it
     *     is gone
     */
    Duration recheck(boolean lookout) {
        if (!lookout) {
            return detection
                    .multipliedBy(50 + ThreadLocalRandom.current().nextInt(25))
                    .dividedBy(100);
        }
        Duration quarter = detection.dividedBy(4);
        return quarter.compareTo(LONGEST_RECHECK) < 0 ? quarter : LONGEST_RECHECK;
    }
}
