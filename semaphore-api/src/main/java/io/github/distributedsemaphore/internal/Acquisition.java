package io.github.distributedsemaphore.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.github.distributedsemaphore.Deadline;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Where a call waits, and until when: a thread parks here, and does exchanges for others meanwhile; a call without a thread waits
 * for a future. Either ends with a grant, when its time is over, or when it is taken back. In which order calls are served,
 * {@link WaitQueue} says. Thread-safe.
 */
final class Acquisition {
    /** For how long a call whose time is over waits for an answer that is under way. */
    private static final long MOMENT_NANOS = 50_000_000;

    private final Coordinator coordinator;
    private final Combiner combiner;
    private final Environment environment;

    @GuardedBy("combiner.lock")
    private final WaitQueue queue;

    @GuardedBy("combiner.lock")
    private final PendingWork work;

    @GuardedBy("combiner.lock")
    private final Wakeups wakeups;

    @GuardedBy("combiner.lock")
    private final Outage outage;

    @GuardedBy("combiner.lock")
    private final Ledger ledger;

    @GuardedBy("combiner.lock")
    private final Coordinator.Usage usage;

    Acquisition(
            Coordinator coordinator,
            Combiner combiner,
            WaitQueue queue,
            PendingWork work,
            Wakeups wakeups,
            Outage outage,
            Ledger ledger,
            Coordinator.Usage usage) {
        this.coordinator = coordinator;
        this.combiner = combiner;
        this.environment = coordinator.environment();
        this.queue = queue;
        this.work = work;
        this.wakeups = wakeups;
        this.outage = outage;
        this.ledger = ledger;
        this.usage = usage;
    }

    // On the calling thread

    /** Exactly one attempt; not interruptible. Empty if refused. */
    List<HeldPermit> attempt(int permits) {
        AcquireCall call = callOfThisThread(permits, Deadline.NEVER, true);
        combiner.driveUntil(submit(call, call::isDone, null), call::isDone);
        List<HeldPermit> granted = call.outcome();
        if (!areSure(granted)) {
            throw notSure();
        }
        return granted;
    }

    /** Why a permit that was granted is not handed out. */
    RuntimeException notSure() {
        combiner.lock.lock();
        try {
            RuntimeException refusal = queue.refusal();
            return refusal == null ? Failures.late(coordinator.name()) : refusal;
        } finally {
            combiner.lock.unlock();
        }
    }

    /** Waits. Empty if the time is over. */
    List<HeldPermit> await(int permits, Deadline deadline) throws InterruptedException {
        endIfInterrupted();
        while (true) {
            AcquireCall call = callOfThisThread(permits, deadline, false);
            try {
                awaitEnd(call);
            } finally {
                if (call.takeWakeUp()) {
                    // It ended meanwhile: what it was to do is for somebody else.
                    combiner.passOn();
                }
            }
            List<HeldPermit> granted = call.outcome();
            if (areSure(granted)) {
                return granted;
            }
        }
    }

    /** Ends a call before it begins, if its thread was interrupted. */
    void endIfInterrupted() throws InterruptedException {
        if (!Thread.interrupted()) {
            return;
        }
        combiner.lock.lock();
        try {
            ledger.withdrawn(environment.nanoTime());
        } finally {
            combiner.lock.unlock();
        }
        throw new InterruptedException();
    }

    private AcquireCall callOfThisThread(int permits, Deadline deadline, boolean once) {
        Thread caller = Thread.currentThread();
        Runnable unpark = () -> combiner.lock.wakeAfterwards(() -> environment.unpark(caller));
        return new AcquireCall(permits, deadline, once, unpark, unpark);
    }

    private void awaitEnd(AcquireCall call) throws InterruptedException {
        // Others may bring work without end: a thread that serves them keeps its time, and can be interrupted.
        BooleanSupplier leaves = () -> call.isDone()
                || call.deadline().isPast(environment.nanoTime())
                || Thread.currentThread().isInterrupted();
        combiner.drive(submit(call, leaves, call), leaves, call);
        while (!call.isDone()) {
            if (call.deadline().isPast(environment.nanoTime())) {
                expire(call);
                combiner.drive(leaves, call);
                continue;
            }
            if (!Thread.currentThread().isInterrupted() && call.takeWakeUp()) {
                combiner.drive(leaves, call);
            } else {
                environment.park(this, call.deadline().nanosFrom(environment.nanoTime()));
            }
            if (Thread.interrupted()) {
                if (withdraw(call)) {
                    throw new InterruptedException();
                }
                // Granted just before: the caller gets the permit, and the interrupt at its next wait.
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    /** The process may have been stopped between grant and return: what is not sure any more is not handed out. */
    private boolean areSure(List<HeldPermit> granted) {
        for (HeldPermit permit : granted) {
            if (!permit.isValid()) {
                coordinator.releaseLater(granted);
                return false;
            }
        }
        return true;
    }

    // Put down, and taken back

    /** Puts down that a call wants permits, and takes what its thread does first. */
    private Combiner.@Nullable Step submit(AcquireCall call, BooleanSupplier leaves, @Nullable AcquireCall driver) {
        Combiner.Step first;
        combiner.lock.lock();
        try {
            putDown(call);
            first = combiner.next(leaves, driver);
        } finally {
            combiner.lock.unlock();
        }
        environment.checkpoint();
        return first;
    }

    @GuardedBy("combiner.lock")
    private void putDown(AcquireCall call) {
        call.submitted(environment.nanoTime(), ledger);
        RuntimeException refusal = queue.refusal();
        if (refusal != null) {
            call.fail(refusal);
            return;
        }
        boolean first = !queue.isAnyoneWaiting();
        usage.noted();
        queue.add(call);
        outage.arrived();
        if (call.isOnce() || first) {
            work.arrived(call);
        }
    }

    /**
     * The time of a call is over. It ends, unless an answer to it may be on its way or the backend was not asked for it yet: then
     * it has a moment more, for that answer or for one attempt.
     */
    private void expire(AcquireCall call) {
        combiner.lock.lock();
        try {
            if (call.isDone()) {
                return;
            }
            leave(call);
            boolean hopes = call.isInFlight() || !call.isAttempted();
            if (hopes && !call.isExtended() && !outage.isOn()) {
                call.extendTo(Deadline.at(environment.nanoTime() + MOMENT_NANOS));
                call.makeOnce();
                if (!call.isInFlight()) {
                    queue.add(call);
                    work.arrived(call);
                }
            } else {
                outage.end(call);
            }
            work.headMayHaveChanged();
        } finally {
            combiner.lock.unlock();
        }
    }

    /**
     * Takes a call back: it ends without a permit, and what may be granted to it meanwhile goes to others.
     *
     * @return false if it had ended before
     */
    private boolean withdraw(AcquireCall call) {
        combiner.lock.lock();
        try {
            if (call.isDone()) {
                return false;
            }
            leave(call);
            call.withdraw();
            work.headMayHaveChanged();
        } finally {
            combiner.lock.unlock();
        }
        combiner.passOn();
        return true;
    }

    @GuardedBy("combiner.lock")
    private void leave(AcquireCall call) {
        queue.remove(call);
        if (!queue.isAnyoneWaiting()) {
            wakeups.lastWaiterLeft();
        }
    }

    // Without a thread

    /**
     * Acquires for a caller that does not wait. The future completes on a worker that nothing else depends on, so what is chained to
     * it may block.
     *
     * @param once whether it is one attempt; else it waits, also if its deadline is past by now
     * @param shape what the future completes with
     * @param timeout what it fails with when the time is over
     */
    <T> CompletableFuture<T> async(
            int permits,
            Deadline deadline,
            boolean once,
            Function<List<HeldPermit>, T> shape,
            Supplier<RuntimeException> timeout) {
        Async<T> async = new Async<>(permits, deadline, once, shape, timeout);
        async.start();
        return async.future;
    }

    private final class Async<T> {
        private final CompletableFuture<T> future = new CompletableFuture<>();
        private final int permits;
        private final Deadline deadline;
        private final boolean once;
        private final Function<List<HeldPermit>, T> shape;
        private final Supplier<RuntimeException> timeout;

        /** What was granted and is on its way to the future, by an executor of the application perhaps. */
        private final AtomicReference<@Nullable List<HeldPermit>> undelivered = new AtomicReference<>();

        Async(
                int permits,
                Deadline deadline,
                boolean once,
                Function<List<HeldPermit>, T> shape,
                Supplier<RuntimeException> timeout) {
            this.permits = permits;
            this.deadline = deadline;
            this.once = once;
            this.shape = shape;
            this.timeout = timeout;
        }

        void start() {
            // The call is made before it can be known to the wake-up that reads its outcome: hence the array.
            AcquireCall[] call = new AcquireCall[1];
            Runnable complete = () -> combiner.lock.wakeAfterwards(() -> environment.execute(() -> complete(call[0])));
            AcquireCall submitted = new AcquireCall(permits, deadline, once, complete);
            call[0] = submitted;
            combiner.lock.lock();
            try {
                putDown(submitted);
            } finally {
                combiner.lock.unlock();
            }
            environment.checkpoint();
            whenOver(() -> {
                boolean unused = withdraw(submitted);
                giveBackUndelivered();
            });
            if (!once && !deadline.isNever()) {
                expireAtDeadline(submitted);
            }
            combiner.passOn();
        }

        /** Also when the caller cancels the future or completes it itself. */
        @SuppressWarnings("FutureReturnValueIgnored") // the action does not throw
        private void whenOver(Runnable action) {
            future.whenComplete((result, failure) -> action.run());
        }

        private void expireAtDeadline(AcquireCall call) {
            Environment.Timer timer =
                    environment.schedule(() -> timeIsOver(call), call.deadline().nanosFrom(environment.nanoTime()));
            whenOver(timer::cancel);
        }

        private void timeIsOver(AcquireCall call) {
            expire(call);
            if (!call.isDone()) {
                // An answer may be on its way, and has a moment more.
                expireAtDeadline(call);
            }
            combiner.driveAll();
        }

        private void complete(AcquireCall call) {
            List<HeldPermit> granted;
            try {
                granted = call.outcome();
            } catch (RuntimeException e) {
                fail(e);
                return;
            }
            if (granted.isEmpty()) {
                // Withdrawn, and then the future is complete already; or the time is over.
                fail(timeout.get());
            } else if (future.isDone()) {
                coordinator.releaseLater(granted);
            } else if (!areSure(granted)) {
                startAgain();
            } else {
                undelivered.set(granted);
                environment.callBack(this::deliver);
                if (future.isDone()) {
                    giveBackUndelivered();
                }
            }
        }

        private void deliver() {
            List<HeldPermit> granted = undelivered.getAndSet(null);
            if (granted == null) {
                return;
            }
            // An executor of the application may be late, and the client be closed or the permit be lost meanwhile.
            if (!areSure(granted)) {
                startAgain();
            } else if (!future.complete(shape.apply(granted))) {
                coordinator.releaseLater(granted);
            }
        }

        /** A call that makes one attempt fails. A call that waits asks again, at least once, also if its time is over. */
        private void startAgain() {
            if (once) {
                fail(notSure());
            } else {
                start();
            }
        }

        /** A future that ended without them does not wait for the executor. */
        private void giveBackUndelivered() {
            List<HeldPermit> granted = undelivered.getAndSet(null);
            if (granted != null) {
                coordinator.releaseLater(granted);
            }
        }

        private void fail(RuntimeException reason) {
            if (!future.isDone()) {
                environment.callBack(() -> future.completeExceptionally(reason));
            }
        }
    }
}
