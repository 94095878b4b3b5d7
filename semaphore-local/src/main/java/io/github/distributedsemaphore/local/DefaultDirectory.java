package io.github.distributedsemaphore.local;

import java.nio.file.Path;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Where state goes that nobody gave a place: the XDG Base Directory Specification's place for a user's state. */
final class DefaultDirectory {
    private DefaultDirectory() {}

    static Path path() {
        return path(System::getenv, System.getProperty("user.home", ""));
    }

    static Path path(UnaryOperator<@Nullable String> environment, String home) {
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
}
