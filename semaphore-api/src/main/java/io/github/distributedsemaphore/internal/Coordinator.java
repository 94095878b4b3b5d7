package io.github.distributedsemaphore.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client at one semaphore: makes the parts that do the work, and is where permits are released and the client closes.
 * Its lock is held for moments and never while the backend is asked. Thread-safe.
 *
 * <p>A class of the engine either takes the lock or is guarded by it. Those that take it are this one, {@link Acquisition},
 * {@link Combiner} and {@link SessionKeeper}; in these, each reference to a class that is guarded by the lock says so, and the
 * compiler checks that the lock is held where it is used.
 */
final class Coordinator implements HeldPermit.Owner {
    private static final Logger LOG = LoggerFactory.getLogger(Coordinator.class);

    private final String name;
    private final SemaphoreBackend backend;
    private final Environment environment;
    private final Combiner combiner;
    private final SessionKeeper keeper;
    private final Acquisition acquisition;
    private final boolean fencing;

    @GuardedBy("combiner.lock")
    private final WaitQueue queue;

    @GuardedBy("combiner.lock")
    private final PendingWork work;

    @GuardedBy("combiner.lock")
    private final Slots slots;

    @GuardedBy("combiner.lock")
    private final Wakeups wakeups;

    private final Ledger ledger;

    @GuardedBy("combiner.lock")
    private final Usage usage = new Usage();

    /** Whether anything is acquired or released here. Guarded by the lock. */
    static final class Usage {
        /** Is called when the session begins to be used, and when it is closed because it is not used. */
        private Consumer<Boolean> listener = used -> {};

        private boolean inUse;

        /** Something was acquired or released since the last look. */
        private boolean lately;

        void noted() {
            lately = true;
            if (!inUse) {
                listener.accept(true);
                inUse = true;
            }
        }

        private void ended() {
            inUse = false;
            listener.accept(false);
        }
    }

    Coordinator(
            String name,
            SemaphoreBackend backend,
            ClientSettings settings,
            Environment environment,
            Outage.Retries retries,
            Ledger.Listeners listeners,
            Combiner.Lock lock) {
        this.name = name;
        this.backend = backend;
        this.environment = environment;
        this.fencing = backend.guarantees().has(Capability.FENCING);
        this.ledger = new Ledger(name, lock, environment, listeners);
        this.combiner = new Combiner(lock, environment);
        this.queue = new WaitQueue();
        this.work = new PendingWork(queue, environment, settings);
        this.wakeups = new Wakeups(name, queue, work, combiner, environment, settings);
        this.slots = new Slots(this, queue, work, combiner, settings);
        Outage outage = new Outage(name, queue, work, combiner, environment, retries, settings);
        this.keeper =
                new SessionKeeper(name, backend, combiner, environment, queue, work, wakeups, slots, outage, ledger);
        this.acquisition = new Acquisition(this, combiner, queue, work, wakeups, outage, ledger, usage);
        combiner.start(new Exchanges(name, queue, work, wakeups, slots, outage, keeper, ledger));
    }

    Acquisition acquisition() {
        return acquisition;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Environment environment() {
        return environment;
    }

    @Override
    public Ledger ledger() {
        return ledger;
    }

    @Override
    public void requireFencing() {
        if (!fencing) {
            throw new UnsupportedOperationException(
                    "The backend '" + backend.guarantees().backend() + "' has no fencing");
        }
    }

    void requireOpen() {
        combiner.lock.lock();
        try {
            if (queue.isClosed()) {
                throw Failures.closed(name);
            }
        } finally {
            combiner.lock.unlock();
        }
    }

    SemaphoreStatistics statistics() {
        combiner.lock.lock();
        try {
            return slots.count(ledger);
        } finally {
            combiner.lock.unlock();
        }
    }

    @Override
    public Verification verify(HeldPermit permit) {
        return keeper.verify(permit);
    }

    @Override
    public void noteEnd(HeldPermit permit) {
        combiner.lock.lock();
        try {
            Verification unused = slots.known(permit);
        } finally {
            combiner.lock.unlock();
        }
        combiner.passOn();
    }

    // Release

    @Override
    public List<PendingWork.Release> release(List<HeldPermit> permits) {
        Thread caller = Thread.currentThread();
        List<PendingWork.Release> releases = new ArrayList<>(permits.size());
        BooleanSupplier reported = () -> areReported(releases);
        Combiner.Step first;
        combiner.lock.lock();
        try {
            giveUp(permits, releases, () -> combiner.lock.wakeAfterwards(() -> environment.unpark(caller)));
            first = combiner.next(reported, null);
        } finally {
            combiner.lock.unlock();
        }
        environment.checkpoint();
        combiner.driveUntil(first, reported);
        return releases;
    }

    private static boolean areReported(List<PendingWork.Release> releases) {
        for (PendingWork.Release release : releases) {
            if (!release.isReported()) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void releaseQuietly(List<HeldPermit> permits) {
        for (PendingWork.Release release : release(permits)) {
            try {
                release.outcome();
            } catch (RuntimeException e) {
                LOG.warn(
                        "Release of slot {} of semaphore '{}' is not confirmed yet: {}",
                        release.hold().hold().slot(),
                        name,
                        e.getMessage());
            }
        }
    }

    @Override
    public <T> CompletableFuture<T> releaseAsync(
            List<HeldPermit> permits, Function<List<PendingWork.Release>, T> outcome) {
        CompletableFuture<T> released = new CompletableFuture<>();
        List<PendingWork.Release> releases = new ArrayList<>(permits.size());
        AtomicInteger left = new AtomicInteger(permits.size());
        Runnable complete = () -> Questions.askFor(environment, released, () -> outcome.apply(releases));
        releaseInBackground(permits, releases, () -> {
            if (left.decrementAndGet() == 0) {
                combiner.lock.wakeAfterwards(complete);
            }
        });
        return released;
    }

    /** Releases permits in the background. */
    void releaseLater(List<HeldPermit> permits) {
        releaseInBackground(permits, new ArrayList<>(permits.size()), () -> {});
    }

    private void releaseInBackground(
            List<HeldPermit> permits, List<PendingWork.Release> releases, Runnable whenReported) {
        combiner.lock.lock();
        try {
            giveUp(permits, releases, whenReported);
        } finally {
            combiner.lock.unlock();
        }
        combiner.passOn();
    }

    /** What is run when one of them is reported runs under the lock. */
    @GuardedBy("combiner.lock")
    private void giveUp(List<HeldPermit> permits, List<PendingWork.Release> releases, Runnable whenReported) {
        usage.noted();
        for (HeldPermit permit : permits) {
            PendingWork.Release release = new PendingWork.Release(permit.hold(), whenReported);
            releases.add(release);
            // After a long pause a release may come before the timer that tells of the loss.
            Verification unused = slots.known(permit);
            switch (permit.state()) {
                case HELD -> slots.giveUp(permit, release, keeper.servesInOrder());
                case RELEASED -> release.done(ReleaseOutcome.ALREADY_RELEASED);
                case LOST -> release.done(ReleaseOutcome.WAS_LOST);
            }
        }
    }

    /** An administrator of this client changed the semaphore: slots above the limit are not handed on, waiters look again. */
    void resized(int limit) {
        combiner.lock.lock();
        try {
            slots.retireAbove(limit);
            work.ask();
        } finally {
            combiner.lock.unlock();
        }
        environment.execute(combiner::driveAll);
    }

    // Use and end

    /** Before the first call only. */
    void onUse(Consumer<Boolean> listener) {
        combiner.lock.lock();
        try {
            usage.listener = listener;
        } finally {
            combiner.lock.unlock();
        }
    }

    /** Closes the session if nothing is held or wanted, and nothing was since this was called last. */
    void restIfUnused() {
        combiner.lock.lock();
        try {
            boolean wanted = queue.isAnyoneWaiting() || work.isAnythingOwed() || combiner.isBusy();
            if (usage.lately || wanted || slots.isAnythingHeld()) {
                usage.lately = false;
                return;
            }
            usage.ended();
            keeper.closeLater();
        } finally {
            combiner.lock.unlock();
        }
        // One step: if this name is used again just now, other threads do the rest.
        // The caller goes on to other names.
        combiner.drive(() -> true, null);
    }

    /** Ends the calls that want permits and refuses those to come; what is granted to them meanwhile goes back. Holds stay. */
    void stopAcquiring() {
        combiner.lock.lock();
        try {
            queue.stop(() -> Failures.stopped(name));
            wakeups.lastWaiterLeft();
            work.headMayHaveChanged();
        } finally {
            combiner.lock.unlock();
        }
        combiner.passOn();
    }

    /** Gives everything back and ends the session; returns when that is done or was tried. */
    void close() {
        Thread caller = Thread.currentThread();
        List<PendingWork.Release> releases;
        Combiner.Step first;
        combiner.lock.lock();
        try {
            if (queue.isClosed()) {
                return;
            }
            queue.close(() -> Failures.closed(name));
            releases = slots.giveBackAll(() -> combiner.lock.wakeAfterwards(() -> environment.unpark(caller)));
            first = combiner.next(() -> areReported(releases), null);
        } finally {
            combiner.lock.unlock();
        }
        combiner.driveUntil(first, () -> areReported(releases));
        combiner.awaitRest();
        keeper.close(false);
    }

    /** Ends the session as if the process had died. */
    void abort() {
        combiner.lock.lock();
        try {
            if (queue.isClosed()) {
                return;
            }
            queue.close(() -> Failures.closed(name));
            slots.loseAll(LossCause.CLIENT_ABORTED, "the client was aborted");
        } finally {
            combiner.lock.unlock();
        }
        keeper.close(true);
    }
}
