package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Fence;
import io.github.distributedsemaphore.Holding;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.Verification;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A permit and its life: HELD, then RELEASED or LOST, once and for good. The state changes under the coordinator's lock and
 * may be read by any thread.
 */
public final class HeldPermit implements Permit {
    enum State {
        HELD,
        RELEASED,
        LOST
    }

    /** What a permit needs of the semaphore that it is of. Thread-safe. */
    interface Owner {
        String name();

        Environment environment();

        Ledger ledger();

        /** Throws if the backend has no fencing. */
        void requireFencing();

        Verification verify(HeldPermit permit);

        /** The time of a permit is over: it is lost, unless it has ended otherwise. */
        void noteEnd(HeldPermit permit);

        /** Releases permits and waits until each is reported; an interrupt is kept for the caller. */
        List<PendingWork.Release> release(List<HeldPermit> permits);

        /** Releases permits for a caller that expects no exception. */
        void releaseQuietly(List<HeldPermit> permits);

        /** Releases permits without waiting, and without a thread that waits. The future completes on a worker. */
        <T> CompletableFuture<T> releaseAsync(List<HeldPermit> permits, Function<List<PendingWork.Release>, T> outcome);
    }

    private final Owner owner;
    private final SlotHold hold;
    private final Fence fence;
    private final LossListeners listeners;
    private final boolean timed;
    private final long grantedAt;
    private volatile State state = State.HELD;

    /** How long it would have been valid when it ended, for its hold may go on with another permit. Written before the state. */
    private Deadline validThen = Deadline.NEVER;

    /** When it ended. Written before the state. */
    private long endedAt;

    HeldPermit(Owner owner, SlotHold hold, Fence fence) {
        this.owner = owner;
        this.hold = hold;
        this.fence = fence;
        this.listeners = new LossListeners(owner.environment());
        this.timed = owner.ledger().hasListeners();
        this.grantedAt = timed ? now() : 0;
    }

    private long now() {
        return owner.environment().nanoTime();
    }

    SlotHold hold() {
        return hold;
    }

    State state() {
        return state;
    }

    /** Under the coordinator's lock. */
    void markReleased() {
        end(State.RELEASED);
        owner.ledger().released(fence.slot(), timed, grantedAt);
    }

    /** Under the coordinator's lock; the news goes out on other threads. */
    void markLost(LossCause cause, String reason) {
        end(State.LOST);
        owner.ledger().lost(fence.slot(), cause);
        listeners.lost(new PermitLoss(owner.name(), fence.slot(), cause, reason));
    }

    private void end(State how) {
        // Nothing is made here: there is always memory to end a permit.
        validThen = hold.validUntil();
        endedAt = now();
        state = how;
    }

    @Override
    public String semaphoreName() {
        return owner.name();
    }

    @Override
    public int slot() {
        return fence.slot();
    }

    @Override
    public Fence fence() {
        owner.requireFencing();
        return fence;
    }

    @Override
    public boolean isValid() {
        return state == State.HELD && !hold.validUntil().isPast(now());
    }

    @Override
    public Deadline validUntil() {
        // Read first: it is for this permit only if that is still held afterwards.
        Deadline valid = hold.validUntil();
        return state == State.HELD ? valid : validThen.earlier(Deadline.at(endedAt));
    }

    @Override
    public Verification verify() {
        return owner.verify(this);
    }

    @Override
    public CompletableFuture<Verification> verifyAsync() {
        return Questions.ask(owner.environment(), this::verify);
    }

    @Override
    public void onLost(Consumer<? super PermitLoss> listener) {
        listeners.add(listener);
    }

    /**
     * Takes back what {@link Holding#onLost} was given, so that a permit that is held for long keeps nothing of the jobs that it
     * has outlived. A holding of another origin keeps the listener. Thread-safe, does not block.
     *
     * @param holding the holding
     * @param listener the very object that it was given; is not called for losses from now on
     */
    public static void forget(Holding holding, Consumer<? super PermitLoss> listener) {
        if (holding instanceof HeldPermit permit) {
            permit.listeners.remove(listener);
        } else if (holding instanceof Group group) {
            group.permits.forEach(permit -> permit.listeners.remove(listener));
        }
    }

    /**
     * Returns what was lost, also before listeners are told. Thread-safe, does not block.
     *
     * @param holding a permit or a group
     * @return the first permit's loss; empty if none is lost, as far as its client knows, or the holding has another origin
     */
    public static Optional<PermitLoss> knownLoss(Holding holding) {
        if (holding instanceof HeldPermit permit) {
            permit.noteEnd();
            return permit.listeners.loss();
        }
        return holding instanceof Group group
                ? group.permits.stream()
                        .map(HeldPermit::knownLoss)
                        .flatMap(Optional::stream)
                        .findFirst()
                : Optional.empty();
    }

    /** After a long pause somebody may ask before the timer that tells of the loss. */
    private void noteEnd() {
        if (state == State.HELD && hold.validUntil().isPast(now())) {
            owner.noteEnd(this);
        }
    }

    @Override
    public ReleaseOutcome release() {
        return owner.release(List.of(this)).get(0).outcome();
    }

    @Override
    public CompletableFuture<ReleaseOutcome> releaseAsync() {
        return owner.releaseAsync(List.of(this), releases -> releases.get(0).outcome());
    }

    @Override
    public void close() {
        owner.releaseQuietly(List.of(this));
    }

    @Override
    public String toString() {
        return "permit " + fence + " of '" + owner.name() + "', " + state;
    }

    /** A listener of this library. It does not block, and no executor of the application delays it. */
    @FunctionalInterface
    public interface Prompt extends Consumer<PermitLoss> {}

    /**
     * The listeners of one permit. Each is called once, on a task of its own, so that one that blocks or throws harms nobody.
     * Thread-safe; calls nothing while it holds its lock.
     */
    static final class LossListeners {
        private final Environment environment;
        private List<Consumer<? super PermitLoss>> listeners = List.of();
        private @Nullable PermitLoss loss;

        LossListeners(Environment environment) {
            this.environment = environment;
        }

        void add(Consumer<? super PermitLoss> listener) {
            PermitLoss known;
            synchronized (this) {
                known = loss;
                if (known == null) {
                    listeners = listeners.isEmpty() ? new ArrayList<>(1) : listeners;
                    listeners.add(listener);
                }
            }
            if (known != null) {
                tell(listener, known);
            }
        }

        synchronized void remove(Consumer<? super PermitLoss> listener) {
            // Without listeners the list is one that cannot be changed.
            if (!listeners.isEmpty()) {
                listeners.removeIf(one -> one == listener);
            }
        }

        synchronized Optional<PermitLoss> loss() {
            return Optional.ofNullable(loss);
        }

        void lost(PermitLoss news) {
            List<Consumer<? super PermitLoss>> told;
            synchronized (this) {
                if (loss != null) {
                    return;
                }
                loss = news;
                told = listeners;
                listeners = List.of();
            }
            told.forEach(listener -> tell(listener, news));
        }

        private void tell(Consumer<? super PermitLoss> listener, PermitLoss news) {
            environment.execute(() -> {
                if (listener instanceof Prompt) {
                    listener.accept(news);
                } else {
                    environment.callBack(() -> listener.accept(news));
                }
            });
        }
    }

    /** Permits of one acquire, released together. */
    static final class Group implements PermitGroup {
        /** What a group answers is the first of these that one of its permits answers. */
        private static final List<Verification> WORST_FIRST =
                List.of(Verification.LOST, Verification.RELEASED, Verification.RETIRED, Verification.HELD);

        private final Owner owner;
        private final List<HeldPermit> permits;

        Group(Owner owner, List<HeldPermit> permits) {
            this.owner = owner;
            this.permits = permits.stream()
                    .sorted(Comparator.comparingInt(HeldPermit::slot))
                    .toList();
        }

        @Override
        public List<Permit> permits() {
            return List.copyOf(permits);
        }

        @Override
        public String semaphoreName() {
            return owner.name();
        }

        @Override
        public boolean isValid() {
            return permits.stream().allMatch(Permit::isValid);
        }

        @Override
        public Deadline validUntil() {
            return permits.stream().map(Permit::validUntil).reduce(Deadline.NEVER, Deadline::earlier);
        }

        @Override
        public Verification verify() {
            return permits.stream()
                    .map(Permit::verify)
                    .min(Comparator.comparingInt(WORST_FIRST::indexOf))
                    .orElseThrow();
        }

        @Override
        public CompletableFuture<Verification> verifyAsync() {
            return Questions.ask(owner.environment(), this::verify);
        }

        @Override
        public void onLost(Consumer<? super PermitLoss> listener) {
            permits.forEach(permit -> permit.onLost(listener));
        }

        @Override
        public List<ReleaseOutcome> release() {
            return outcomes(owner.release(permits));
        }

        private static List<ReleaseOutcome> outcomes(List<PendingWork.Release> releases) {
            List<ReleaseOutcome> outcomes = new ArrayList<>();
            RuntimeException failure = null;
            for (PendingWork.Release release : releases) {
                try {
                    outcomes.add(release.outcome());
                } catch (RuntimeException e) {
                    failure = first(failure, e);
                }
            }
            if (failure != null) {
                throw failure;
            }
            return List.copyOf(outcomes);
        }

        @Override
        public CompletableFuture<List<ReleaseOutcome>> releaseAsync() {
            return owner.releaseAsync(permits, Group::outcomes);
        }

        private static RuntimeException first(@Nullable RuntimeException earlier, RuntimeException later) {
            if (earlier == null) {
                return later;
            }
            earlier.addSuppressed(later);
            return earlier;
        }

        @Override
        public void close() {
            owner.releaseQuietly(permits);
        }
    }
}
