package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.support.Durations;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What becomes of callers while the backend does not answer. Calls that wait go on for as long as their own time allows, and at
 * most for the setting {@code outagePatience}; then they fail. Calls that do not wait have failed already. Guarded by the
 * coordinator's lock.
 */
final class Outage {
    private final Coordinator coordinator;
    private final ReentrantLock lock;
    private final WaitQueue queue;
    private final PendingWork work;
    private final Environment environment;
    private final Retries retries;
    private final long patienceNanos;

    /** Why the backend was away when it was asked last; null while it answers. */
    private @Nullable RuntimeException reason;

    /** When the first request was sent that was not answered. */
    private long since;

    private boolean retryPlanned;
    private boolean checkPlanned;

    Outage(
            Coordinator coordinator,
            ReentrantLock lock,
            WaitQueue queue,
            PendingWork work,
            Environment environment,
            Retries retries,
            ClientSettings settings) {
        this.coordinator = coordinator;
        this.lock = lock;
        this.queue = queue;
        this.work = work;
        this.environment = environment;
        this.retries = retries;
        this.patienceNanos = settings.outagePatience().toNanos();
    }

    /** Whether it makes sense to ask again although nobody repairs anything. */
    static boolean mayPass(RuntimeException failure) {
        return failure instanceof BackendUnavailableException
                || failure instanceof OutcomeUnknownException
                || !(failure instanceof SemaphoreException);
    }

    /** The backend did not answer a request. */
    void began(long sent, RuntimeException failure) {
        if (reason == null) {
            since = sent;
        }
        reason = failure;
        work.pause();
        retries.failed();
        failImpatient();
        retryLater();
    }

    /** The backend answered. */
    void over() {
        if (reason != null) {
            reason = null;
            work.resume();
        }
        retries.answered();
    }

    /** The backend answered something else: it is worth to try again soon. */
    void mayBeOver() {
        retries.answered();
    }

    boolean isOn() {
        return reason != null;
    }

    /** A call begins to wait. */
    void arrived() {
        if (reason != null) {
            checkPatience();
        }
    }

    /** Asks again after a while, whether somebody waits or something is to be given back. */
    void retryLater() {
        if (!retryPlanned) {
            retryPlanned = true;
            retries.later(this::retry);
        }
    }

    private void retry() {
        lock.lock();
        try {
            retryPlanned = false;
            work.retry();
        } finally {
            lock.unlock();
        }
        coordinator.driveAll();
    }

    /** How a call ends whose time is over: null if it is simply refused. */
    @Nullable
    RuntimeException endOf(AcquireCall waiter) {
        RuntimeException why = reason;
        if (why == null) {
            return null;
        }
        Batch open = work.unresolved();
        boolean sent = open != null && open.waiters().contains(waiter);
        String tried = Durations.format(Duration.ofMillis((environment.nanoTime() - start(waiter)) / 1_000_000));
        return sent
                ? Failures.unknownFor(coordinator.name(), tried, why)
                : Failures.awayFor(coordinator.name(), tried, why);
    }

    /** Since when a call puts up with the outage. */
    private long start(AcquireCall waiter) {
        return waiter.since() - since > 0 ? waiter.since() : since;
    }

    private void failImpatient() {
        long now = environment.nanoTime();
        for (AcquireCall head = queue.head(); head != null && now - start(head) >= patienceNanos; head = queue.head()) {
            RuntimeException end = endOf(head);
            queue.remove(head);
            if (end != null) {
                head.fail(end);
            }
        }
        checkPatience();
    }

    /** The first in the queue came first, so its patience ends first. */
    private void checkPatience() {
        AcquireCall head = queue.head();
        if (head == null || checkPlanned) {
            return;
        }
        checkPlanned = true;
        long left = patienceNanos - (environment.nanoTime() - start(head));
        environment.schedule(this::patienceMayBeOver, Math.max(left, 1));
    }

    private void patienceMayBeOver() {
        lock.lock();
        try {
            checkPlanned = false;
            if (reason != null) {
                failImpatient();
            }
        } finally {
            lock.unlock();
        }
    }
}
