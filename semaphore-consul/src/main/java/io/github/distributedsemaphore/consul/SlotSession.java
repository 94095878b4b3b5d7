package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.spi.Hold;
import org.jspecify.annotations.Nullable;

/** One Consul session of ours, good for one slot at a time. Guarded by its {@link SessionPool}. */
final class SlotSession {
    private final String id;
    private long confirmedNanos;
    private State state = State.BUSY;
    private @Nullable Hold hold;

    SlotSession(String id, long confirmedNanos) {
        this.id = id;
        this.confirmedNanos = confirmedNanos;
    }

    enum State {
        /** Can be taken for a new slot. */
        IDLE,
        /** In the hands of an exchange. */
        BUSY,
        HELD,
        /** Held, and about to be given back: that it is missing is no loss. */
        RELEASING,
        DEAD
    }

    String id() {
        return id;
    }

    /** Since when the server's time to live certainly runs: before the last confirmed request was sent. */
    long confirmedNanos() {
        return confirmedNanos;
    }

    void confirmed(long startNanos) {
        confirmedNanos = startNanos;
    }

    State state() {
        return state;
    }

    @Nullable
    Hold hold() {
        return hold;
    }

    void become(State newState) {
        state = newState;
    }

    void take(Hold newHold) {
        hold = newHold;
        state = State.HELD;
    }
}
