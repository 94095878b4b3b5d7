package io.github.distributedsemaphore;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The root of what a semaphore may throw besides bad arguments. Unchecked; the leaves are closed, each says what the
 * caller may assume, and every message names the semaphore or the backend it is about. None holds a credential.
 *
 * <pre>{@code
 * try (Permit permit = exports.acquire(Duration.ofSeconds(30))) {
 *     export();
 * } catch (SemaphoreException e) {
 *     if (e.isRetryable()) {
 *         tryAgainLater(e.semaphore().orElse("the backend"));
 *     } else {
 *         throw e;
 *     }
 * }
 * }</pre>
 */
public abstract sealed class SemaphoreException extends RuntimeException
        permits BackendUnavailableException,
                OutcomeUnknownException,
                BackendAccessException,
                IncompatibleStateException,
                NoSuchSemaphoreException,
                LimitConflictException,
                SemaphoreTimeoutException,
                SemaphoreClosedException {
    private static final long serialVersionUID = 1L;

    /** The semaphore that it is about, if that is known. */
    private @Nullable String semaphore;

    SemaphoreException(String message, @Nullable Throwable cause) {
        this(message, cause, null);
    }

    SemaphoreException(String message, @Nullable Throwable cause, @Nullable String semaphore) {
        super(message, cause);
        this.semaphore = semaphore;
    }

    /**
     * Tells whether the same call may succeed later without anybody repairing anything.
     *
     * @return true if trying again makes sense
     */
    public abstract boolean isRetryable();

    /**
     * Returns the name of the semaphore that the call was about.
     *
     * @return the name as the application gave it; empty if the call was about the client or the backend as a whole
     */
    public final Optional<String> semaphore() {
        return Optional.ofNullable(semaphore);
    }

    /**
     * Returns an exception of the same kind that is about a semaphore and has this one as its cause. For the engine, where an
     * adapter only says what happened, and for callers of one exchange: each gets an exception of its own. Does not
     * change this one.
     *
     * @param name the name of the semaphore; the message begins with it unless it has the name in quotes already
     * @return a new exception with the stack trace of the calling thread
     */
    public final SemaphoreException about(String name) {
        String message = String.valueOf(getMessage());
        SemaphoreException copy =
                copy(message.contains("'" + name + "'") ? message : "Semaphore '" + name + "': " + message);
        copy.semaphore = name;
        return copy;
    }

    /** An exception of the same kind with this one as its cause. */
    abstract SemaphoreException copy(String message);
}
