package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One call that wants permits. Changed only under its coordinator's lock; {@link #isDone} may be asked by any thread, and
 * the outcome read once it is done. The wake-up runs under that lock and only orders what is to happen when it is free.
 */
final class Waiter {
    private enum State {
        WAITING,
        GRANTED,
        REFUSED,
        FAILED,
        WITHDRAWN
    }

    private final int wanted;
    private final Deadline deadline;
    private final Runnable wake;

    private volatile State state = State.WAITING;
    private List<HeldPermit> permits = List.of();
    private @Nullable RuntimeException failure;

    /** One attempt and no more: it does not stand in the queue, and a refusal is its end. */
    private boolean once;

    /** Has been part of an exchange, or is. */
    private boolean attempted;

    /** Is part of the exchange that is under way. */
    private boolean inFlight;

    Waiter(int wanted, Deadline deadline, boolean once, Runnable wake) {
        this.wanted = wanted;
        this.deadline = deadline;
        this.once = once;
        this.wake = wake;
    }

    int wanted() {
        return wanted;
    }

    Deadline deadline() {
        return deadline;
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
    }

    /** The permits, empty if refused or withdrawn; only when done. */
    List<HeldPermit> outcome() {
        if (failure != null) {
            throw Failures.forCaller(failure);
        }
        return permits;
    }
}
