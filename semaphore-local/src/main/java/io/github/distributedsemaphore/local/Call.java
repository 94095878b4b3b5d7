package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.time.Duration;

/** One call of the port: until when it may wait, and its shield against interrupts. For one thread. */
final class Call implements AutoCloseable {
    private final InterruptShield shield = new InterruptShield();
    private final long deadline;
    private final boolean mayWait;

    private Call(long deadline, boolean mayWait) {
        this.deadline = deadline;
        this.mayWait = mayWait;
    }

    /** Begins a call that ends within a time: it waits for locks for three quarters of it, the rest is for its work. */
    static Call within(Duration timeout) {
        return new Call(System.nanoTime() + timeout.toNanos() / 4 * 3, true);
    }

    /** Begins a call that does at once what it does, or else ends by {@link WouldWaitException}. */
    static Call withoutWaiting() {
        return new Call(System.nanoTime(), false);
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

    void requireWaiting() throws WouldWaitException {
        if (!mayWait) {
            throw new WouldWaitException();
        }
    }

    /** Returns how many nanoseconds it may still wait; negative if none. */
    long nanosLeft() {
        return deadline - System.nanoTime();
    }

    InterruptShield shield() {
        return shield;
    }

    @Override
    public void close() {
        shield.close();
    }
}
