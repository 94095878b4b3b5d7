package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One call that wants permits. Changed only under its coordinator's lock; {@link #isDone} and {@link #deadline} may be asked by
 * any thread, and the outcome read once it is done. The wake-up runs under that lock and only orders what is to happen when it is free.
 */
final class AcquireCall {
    private enum State {
        WAITING,
        GRANTED,
        REFUSED,
        FAILED,
        WITHDRAWN
    }

    private final int wanted;
    private volatile Deadline deadline;
    private final Runnable wake;
    private final @Nullable Runnable call;

    /** The thread that waits is to do what there is to do. */
    private volatile boolean called;

    private volatile State state = State.WAITING;
    private List<HeldPermit> permits = List.of();
    private @Nullable RuntimeException failure;

    /** Its time is over, and it has a moment more for an answer that may be on its way. */
    private boolean extended;

    /** When it came. */
    private long since;

    private @Nullable Ledger ledger;

    /** One attempt and no more: it does not stand in the queue, and a refusal is its end. */
    private boolean once;

    /** Has been part of an exchange, or is. */
    private boolean attempted;

    /** Is part of the exchange that is under way. */
    private boolean inFlight;

    /** A call for which no thread waits. */
    AcquireCall(int wanted, Deadline deadline, boolean once, Runnable wake) {
        this(wanted, deadline, once, wake, null);
    }

    /**
     * Makes a call.
     *
     * @param wake is run when it has ended
     * @param call wakes the thread that waits, for {@link #takeCall}; null if there is none
     */
    AcquireCall(int wanted, Deadline deadline, boolean once, Runnable wake, @Nullable Runnable call) {
        this.wanted = wanted;
        this.deadline = deadline;
        this.once = once;
        this.wake = wake;
        this.call = call;
    }

    int wanted() {
        return wanted;
    }

    Deadline deadline() {
        return deadline;
    }

    void extendTo(Deadline end) {
        extended = true;
        deadline = end;
    }

    boolean isExtended() {
        return extended;
    }

    long since() {
        return since;
    }

    void submitted(long now, Ledger counts) {
        since = now;
        ledger = counts;
    }

    boolean isOnce() {
        return once;
    }

    boolean isAttempted() {
        return attempted;
    }

    boolean isInFlight() {
        return inFlight;
    }

    boolean isDone() {
        return state != State.WAITING;
    }

    /** Has the thread that waits do what there is to do; returns false if there is no such thread. */
    boolean call() {
        if (call == null) {
            return false;
        }
        called = true;
        call.run();
        return true;
    }

    /** Whether the thread that waits was called; once for each call. Only by that thread. */
    boolean takeCall() {
        boolean was = called;
        called = false;
        return was;
    }

    /** From now on one attempt and no more. */
    void makeOnce() {
        once = true;
    }

    void sent() {
        attempted = true;
        inFlight = true;
    }

    void answered() {
        inFlight = false;
    }

    void grant(List<HeldPermit> granted) {
        permits = granted;
        finish(State.GRANTED);
    }

    void refuse() {
        finish(State.REFUSED);
    }

    void fail(RuntimeException cause) {
        failure = cause;
        finish(State.FAILED);
    }

    void withdraw() {
        finish(State.WITHDRAWN);
    }

    private void finish(State end) {
        if (isDone()) {
            throw new IllegalStateException("a waiter ends once: " + state + ", then " + end);
        }
        state = end;
        wake.run();
        // After that, so that a listener does not hold up the caller.
        if (ledger != null) {
            switch (end) {
                case GRANTED -> ledger.granted(this, permits);
                case REFUSED -> ledger.refused(this);
                case FAILED -> ledger.failed(this);
                case WITHDRAWN -> ledger.withdrawn(this);
                case WAITING -> throw new AssertionError(end);
            }
        }
    }

    /** The permits, empty if refused or withdrawn; only when done. */
    List<HeldPermit> outcome() {
        if (failure != null) {
            throw Failures.forCaller(failure);
        }
        return permits;
    }
}
