package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Fence;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.Verification;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A permit and its life: HELD, then RELEASED or LOST, once and for good. The state changes under the coordinator's lock and
 * may be read by any thread.
 */
final class HeldPermit implements Permit {
    enum State {
        HELD,
        RELEASED,
        LOST
    }

    private final Coordinator coordinator;
    private final SlotHold hold;
    private final Fence fence;
    private final LossListeners listeners;
    private final boolean timed;
    private final long grantedAt;
    private volatile State state = State.HELD;

    HeldPermit(Coordinator coordinator, SlotHold hold, Fence fence) {
        this.coordinator = coordinator;
        this.hold = hold;
        this.fence = fence;
        this.listeners = new LossListeners(coordinator.environment());
        this.timed = coordinator.ledger().hasListeners();
        this.grantedAt = timed ? coordinator.now() : 0;
    }

    SlotHold hold() {
        return hold;
    }

    State state() {
        return state;
    }

    /** Under the coordinator's lock. */
    void markReleased() {
        state = State.RELEASED;
        coordinator.ledger().released(fence.slot(), timed, grantedAt);
    }

    /** Under the coordinator's lock; the news goes out on other threads. */
    void markLost(LossCause cause, String reason) {
        state = State.LOST;
        coordinator.ledger().lost(fence.slot(), cause);
        listeners.lost(new PermitLoss(coordinator.name(), fence.slot(), cause, reason));
    }

    @Override
    public String semaphoreName() {
        return coordinator.name();
    }

    @Override
    public int slot() {
        return fence.slot();
    }

    @Override
    public Fence fence() {
        coordinator.requireFencing();
        return fence;
    }

    @Override
    public boolean isValid() {
        return state == State.HELD && !hold.validUntil().isPast(coordinator.now());
    }

    @Override
    public Deadline validUntil() {
        return state == State.HELD ? hold.validUntil() : Deadline.at(coordinator.now());
    }

    @Override
    public Verification verify() {
        return coordinator.losses().verify(this);
    }

    @Override
    public CompletableFuture<Verification> verifyAsync() {
        return Questions.ask(coordinator.environment(), this::verify);
    }

    @Override
    public void onLost(Consumer<? super PermitLoss> listener) {
        listeners.add(listener);
    }

    @Override
    public ReleaseOutcome release() {
        return coordinator.release(List.of(this)).get(0).outcome();
    }

    @Override
    public CompletableFuture<ReleaseOutcome> releaseAsync() {
        return coordinator.releaseAsync(
                List.of(this), releases -> releases.get(0).outcome());
    }

    @Override
    public void close() {
        coordinator.releaseQuietly(List.of(this));
    }

    @Override
    public String toString() {
        return "permit " + fence + " of '" + coordinator.name() + "', " + state;
    }
}
