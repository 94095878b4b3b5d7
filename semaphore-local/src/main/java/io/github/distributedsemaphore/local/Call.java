package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Path;
import java.time.Duration;

/** One call of the port: until when it may wait, its shield against interrupts, and what its failures are called. For one thread. */
final class Call implements AutoCloseable {
    private final InterruptShield shield = new InterruptShield();
    private final Deadline end;
    private final boolean mayWait;

    private Call(Deadline end, boolean mayWait) {
        this.end = end;
        this.mayWait = mayWait;
    }

    /** Begins a call that ends within a time: it waits for locks for three quarters of it, the rest is for its work. */
    static Call within(Duration timeout) {
        return new Call(Deadline.after(System.nanoTime(), timeout.dividedBy(4).multipliedBy(3)), true);
    }

    /** Begins a call that does at once what it does, or else ends by {@link WouldWaitException}. */
    static Call withoutWaiting() {
        return new Call(Deadline.at(System.nanoTime()), false);
    }

    /** The call came to where it has to wait and must not. What it had begun is undone. */
    static final class WouldWaitException extends IOException {
        private static final long serialVersionUID = 1L;

        WouldWaitException() {
            super("this call does not wait");
        }

        /** Ends ordinary calls wherever there is a crowd, so it must not cost much. */
        @Override
        @SuppressWarnings("UnsynchronizedOverridesSynchronized") // It writes nothing.
        public Throwable fillInStackTrace() {
            return this;
        }
    }

    /** A lock that is held for microseconds was not free for seconds: its holder is stopped, or the machine is stuck. */
    static final class BusyException extends IOException {
        private static final long serialVersionUID = 1L;

        BusyException(Path file, String holder) {
            super(file + " is locked by " + holder + ", which does not go on: resume it or end it");
        }
    }

    /** Something was changed and then failed, and could not be undone. */
    static final class HalfDoneException extends IOException {
        private static final long serialVersionUID = 1L;

        HalfDoneException(IOException cause) {
            super(cause.toString(), cause);
        }
    }

    /** Says in the words of the port why file work failed. It has changed nothing, but for a {@link HalfDoneException}. */
    static SemaphoreException failure(String subject, IOException e) {
        if (e instanceof HalfDoneException) {
            return new OutcomeUnknownException(subject + ": broken off half-way, as " + e.getMessage(), e);
        }
        if (e instanceof AccessDeniedException) {
            return new BackendAccessException(
                    subject + ": this user may not use " + e.getMessage() + ": give the file back to its owner", e);
        }
        String reason = e instanceof BusyException ? e.getMessage() : e.toString();
        return new BackendUnavailableException(subject + ": nothing was done, as " + reason, e);
    }

    /** Adds of which semaphore it is. */
    static IncompatibleStateException failure(String subject, IncompatibleStateException e) {
        return new IncompatibleStateException(subject + ": " + e.getMessage(), e);
    }

    void requireWaiting() throws WouldWaitException {
        if (!mayWait) {
            throw new WouldWaitException();
        }
    }

    /** Returns until when it may wait. */
    Deadline end() {
        return end;
    }

    /** Returns how many nanoseconds it may still wait. */
    long nanosLeft() {
        return end.nanosFrom(System.nanoTime());
    }

    InterruptShield shield() {
        return shield;
    }

    @Override
    public void close() {
        shield.close();
    }
}
