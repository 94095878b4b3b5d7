package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import java.util.List;

/** Acquires on the calling thread, which does exchanges for others while it has to wait anyway. Thread-safe. */
final class Acquisition {
    private final Coordinator coordinator;
    private final Environment environment;

    Acquisition(Coordinator coordinator) {
        this.coordinator = coordinator;
        this.environment = coordinator.environment();
    }

    /** Exactly one attempt; not interruptible. Empty if refused. */
    List<HeldPermit> attempt(int permits) {
        AcquireCall waiter = submit(permits, Deadline.NEVER, true);
        coordinator.driveUntil(waiter::isDone);
        List<HeldPermit> granted = waiter.outcome();
        if (!areSure(granted)) {
            throw Failures.late(coordinator.name());
        }
        return granted;
    }

    /** Waits. Empty if the time is over. */
    List<HeldPermit> await(int permits, Deadline deadline) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        while (true) {
            AcquireCall waiter = submit(permits, deadline, false);
            try {
                awaitGrant(waiter);
            } finally {
                if (waiter.takeCall()) {
                    // It ended meanwhile: what it was to do is for somebody else.
                    coordinator.passOn();
                }
            }
            List<HeldPermit> granted = waiter.outcome();
            if (areSure(granted)) {
                return granted;
            }
        }
    }

    private AcquireCall submit(int permits, Deadline deadline, boolean once) {
        Thread caller = Thread.currentThread();
        Runnable unpark = coordinator.afterwards(() -> environment.unpark(caller));
        AcquireCall waiter = new AcquireCall(permits, deadline, once, unpark, unpark);
        coordinator.submit(waiter);
        return waiter;
    }

    private void awaitGrant(AcquireCall waiter) throws InterruptedException {
        driveMeanwhile(waiter);
        while (!waiter.isDone()) {
            if (waiter.deadline().isPast(environment.nanoTime())) {
                coordinator.expire(waiter);
                driveMeanwhile(waiter);
                continue;
            }
            if (!Thread.currentThread().isInterrupted() && waiter.takeCall()) {
                driveMeanwhile(waiter);
            } else {
                environment.park(this, waiter.deadline().nanosFrom(environment.nanoTime()));
            }
            if (Thread.interrupted()) {
                if (coordinator.withdraw(waiter)) {
                    throw new InterruptedException();
                }
                // Granted just before: the caller gets the permit, and the interrupt at its next wait.
                Thread.currentThread().interrupt();
                return;
            }
        }
    }

    /** Others may bring work without end: a thread that serves them keeps its time, and can be interrupted. */
    private void driveMeanwhile(AcquireCall waiter) {
        coordinator.drive(
                () -> waiter.isDone()
                        || waiter.deadline().isPast(environment.nanoTime())
                        || Thread.currentThread().isInterrupted(),
                waiter);
    }

    /** The process may have been stopped between grant and return: what is not sure any more is not handed out. */
    private boolean areSure(List<HeldPermit> granted) {
        if (granted.stream().allMatch(HeldPermit::isValid)) {
            return true;
        }
        coordinator.releaseLater(granted);
        return false;
    }
}
