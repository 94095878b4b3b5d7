package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;

/** Says in the words of the port why file work failed without having changed anything. */
final class Failures {
    private Failures() {}

    static SemaphoreException of(String subject, IOException e) {
        if (e instanceof AccessDeniedException) {
            return new BackendAccessException(
                    subject + ": this user may not use " + e.getMessage() + ": give the file back to its owner", e);
        }
        return new BackendUnavailableException(subject + ": nothing was done, as " + reason(e), e);
    }

    /** Adds of which semaphore it is. */
    static IncompatibleStateException of(String subject, IncompatibleStateException e) {
        return new IncompatibleStateException(subject + ": " + e.getMessage(), e);
    }

    private static String reason(IOException e) {
        String message = e.getMessage();
        return e instanceof MutexBusyException && message != null ? message : e.toString();
    }
}
