package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreException;

/**
 * Failures on their way from the thread that did an exchange to the callers it was done for. Each caller gets an exception
 * of its own, whose stack trace shows its call and whose cause shows the exchange.
 */
final class Failures {
    private Failures() {}

    static RuntimeException forCaller(RuntimeException failure) {
        if (failure instanceof SemaphoreException known) {
            return known.semaphore().<RuntimeException>map(known::about).orElse(known);
        }
        String message = String.valueOf(failure.getMessage());
        return failure instanceof IllegalArgumentException
                ? new IllegalArgumentException(message, failure)
                : new OutcomeUnknownException(message, failure);
    }

    /** Says which semaphore a call was about where the backend only says what happened to it. */
    static RuntimeException naming(String name, RuntimeException failure) {
        return failure instanceof SemaphoreException known && known.semaphore().isEmpty() ? known.about(name) : failure;
    }

    /** Whether the call that failed so has certainly changed nothing. */
    static boolean isCertain(RuntimeException failure) {
        return failure instanceof SemaphoreException && !(failure instanceof OutcomeUnknownException);
    }

    /** Whether it makes sense to ask again although nobody repairs anything. */
    static boolean mayPass(RuntimeException failure) {
        return failure instanceof BackendUnavailableException
                || failure instanceof OutcomeUnknownException
                || !(failure instanceof SemaphoreException);
    }

    /** What a call to the backend threw: an Error of an adapter must not strand those whom the call was made for. */
    static RuntimeException ofBackend(String name, Throwable thrown) {
        return thrown instanceof RuntimeException failure
                ? naming(name, failure)
                : new OutcomeUnknownException(
                        "The backend failed at semaphore '" + name + "': " + thrown, thrown, name);
    }

    /** A session could not be opened, so certainly nothing was asked in it. */
    static RuntimeException notOpened(String name, Throwable thrown) {
        RuntimeException failure = ofBackend(name, thrown);
        return isCertain(failure)
                ? failure
                : new BackendUnavailableException(
                        "No session could be opened at semaphore '" + name + "': " + failure.getMessage(),
                        thrown,
                        name);
    }

    static RuntimeException unconfirmed(String name, RuntimeException cause) {
        if (cause instanceof BackendUnavailableException || !(cause instanceof SemaphoreException)) {
            return new OutcomeUnknownException(
                    "The release of a permit of semaphore '" + name
                            + "' could not be confirmed; the client goes on trying: " + cause.getMessage(),
                    cause,
                    name);
        }
        return cause;
    }

    static NoSuchSemaphoreException missing(String name) {
        return new NoSuchSemaphoreException("There is no semaphore '" + name + "': create it first", name);
    }

    static SemaphoreClosedException closed(String name) {
        return new SemaphoreClosedException("The client of semaphore '" + name + "' is closed", name);
    }

    static SemaphoreClosedException stopped(String name) {
        return new SemaphoreClosedException(
                "The client of semaphore '" + name + "' takes no more permits: it is about to be closed", name);
    }

    static SemaphoreClosedException clientClosed() {
        return new SemaphoreClosedException("The client is closed");
    }

    /** The session that a call was made in is gone. */
    static SemaphoreException sessionLost(String name, boolean closed) {
        return closed
                ? closed(name)
                : new BackendUnavailableException(
                        "The session at semaphore '" + name + "' ended during the call: try again", null, name);
    }

    static BackendUnavailableException late(String name) {
        return new BackendUnavailableException(
                "A permit of semaphore '" + name + "' was granted too late to be sure, and is given back: try again",
                null,
                name);
    }

    static OutcomeUnknownException unknown(String name, RuntimeException cause) {
        return unknown(name, "the client finds out and releases them", cause);
    }

    /** The session has ended before the outcome was found out. */
    static OutcomeUnknownException unknownAtEnd(String name, RuntimeException cause) {
        return unknown(name, "the session has ended, which releases them", cause);
    }

    private static OutcomeUnknownException unknown(String name, String remedy, RuntimeException cause) {
        return new OutcomeUnknownException(
                "It is not known whether permits of semaphore '" + name + "' were taken; " + remedy + ": "
                        + cause.getMessage(),
                cause,
                name);
    }

    /** The time of a call is over, or its patience, while the backend does not answer. */
    static BackendUnavailableException awayFor(String name, String tried, RuntimeException cause) {
        return new BackendUnavailableException(
                "Semaphore '" + name + "': the backend has not answered for " + tried + ": " + cause.getMessage(),
                cause,
                name);
    }

    /** The same, for a call that is part of a request whose outcome is unknown. */
    static OutcomeUnknownException unknownFor(String name, String tried, RuntimeException cause) {
        return new OutcomeUnknownException(
                "Semaphore '" + name + "': the backend has not answered for " + tried
                        + ", and it is not known whether permits were taken; the client finds out and releases them: "
                        + cause.getMessage(),
                cause,
                name);
    }

    /** A call was not sent because the outcome of an earlier request has to be found out first. */
    static BackendUnavailableException notSent(String name, RuntimeException cause) {
        return new BackendUnavailableException(
                "Semaphore '" + name + "': nothing was asked, because an earlier request is not answered yet: "
                        + cause.getMessage(),
                cause,
                name);
    }

    static BackendUnavailableException requestLost(String name) {
        return new BackendUnavailableException(
                "Semaphore '" + name + "': the request was lost on its way and nothing was done: try again",
                null,
                name);
    }

    static IllegalArgumentException exceedsLimit(String name, int wanted, int limit) {
        return new IllegalArgumentException("Semaphore '" + name + "' has " + limit + " slots, " + wanted
                + " permits at once can never be granted: ask for at most " + limit);
    }
}
