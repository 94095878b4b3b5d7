package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.nio.file.Path;

/** A lock that is held for microseconds was not free for seconds: its holder is stopped, or the machine is stuck. */
final class MutexBusyException extends IOException {
    private static final long serialVersionUID = 1L;

    MutexBusyException(Path file, String holder) {
        super(file + " is locked by " + holder + ", which does not go on: resume it or end it");
    }
}
