package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One call that wants permits. Changed only under its coordinator's lock; {@link #isDone} and {@link #deadline} may be asked by
 * any thread, and the outcome read once it is done. The wake-ups run under that lock and only order what is to happen when it is free.
 */
final class AcquireCall implements Combiner.Caller {
    private enum State {
        WAITING,
        GRANTED,
        REFUSED,
        FAILED,
        WITHDRAWN
    }

    private final int wanted;
    private volatile Deadline deadline;
    private final Runnable whenEnded;
    private final @Nullable Runnable toDrive;

    /** The thread that waits was woken to do what there is to do. */
    private volatile boolean wokenToDrive;

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
    AcquireCall(int wanted, Deadline deadline, boolean once, Runnable whenEnded) {
        this(wanted, deadline, once, whenEnded, null);
    }

    /**
     * Makes a call.
     *
     * @param whenEnded is run when it has ended
     * @param toDrive wakes the thread that waits, for {@link #takeWakeUp}; null if there is none
     */
    AcquireCall(int wanted, Deadline deadline, boolean once, Runnable whenEnded, @Nullable Runnable toDrive) {
        this.wanted = wanted;
        this.deadline = deadline;
        this.once = once;
        this.whenEnded = whenEnded;
        this.toDrive = toDrive;
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

    @Override
    public boolean isDone() {
        return state != State.WAITING;
    }

    @Override
    public boolean wakeToDrive() {
        if (toDrive == null) {
            return false;
        }
        wokenToDrive = true;
        toDrive.run();
        return true;
    }

    /** Whether the thread that waits was woken to do what there is to do; once for each time. Only by that thread. */
    boolean takeWakeUp() {
        if (!wokenToDrive) {
            // Nothing is written then: another thread may set it just now.
            return false;
        }
        wokenToDrive = false;
        return true;
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
            throw new IllegalStateException("a call ends once: " + state + ", then " + end);
        }
        state = end;
        whenEnded.run();
        // After that, so that a listener does not hold up the caller.
        Ledger counts = ledger;
        if (counts != null) {
            switch (end) {
                case GRANTED ->
                    permits.forEach(permit ->
                            counts.granted(since, permit.slot(), permit.hold().handOffs() > 0));
                case REFUSED -> {
                    if (once && !extended) {
                        counts.refused();
                    } else {
                        counts.timedOut(since);
                    }
                }
                case FAILED -> counts.failed(since);
                case WITHDRAWN -> counts.withdrawn(since);
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
