package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.spi.support.Durations;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What happens when the link to the backend breaks: an exchange fails, its outcome is unknown, the session ends. Calls that do not
 * wait fail. Calls that wait go on for as long as their own time allows, and at most for the setting {@code outagePatience}; then
 * they fail. What is to be given back stays pending. {@link Retries} says when the backend is asked again. Guarded by the
 * coordinator's lock.
 */
final class Outage {
    private static final Logger LOG = LoggerFactory.getLogger(Outage.class);

    private final String name;
    private final WaitQueue queue;
    private final PendingWork work;
    private final Combiner combiner;
    private final Environment environment;
    private final Retries retries;
    private final long patienceNanos;

    /** Why the backend was away when it was asked last; null while it answers. */
    private @Nullable RuntimeException reason;

    /**
     * Whether nobody has asked since a retry was due: the outage may be over. The next call has its own time, and is told the reason only
     * if it gets no answer either.
     */
    private boolean old;

    /** Why the outcome of the exchange that is found out is unknown; null if there is none. */
    private @Nullable RuntimeException whyUnknown;

    /** When the first request was sent that was not answered. */
    private long since;

    /** How often it was tried again since the backend answered. */
    private int retried;

    /** The answers that there were when this last planned to try again. */
    private int answersBefore;

    private boolean retryPlanned;
    private boolean checkPlanned;

    Outage(
            String name,
            WaitQueue queue,
            PendingWork work,
            Combiner combiner,
            Environment environment,
            Retries retries,
            ClientSettings settings) {
        this.name = name;
        this.queue = queue;
        this.work = work;
        this.combiner = combiner;
        this.environment = environment;
        this.retries = retries;
        this.patienceNanos = settings.outagePatience().toNanos();
    }

    // An exchange failed

    /**
     * An exchange failed.
     *
     * @param current whether the session that it was for is still the present one
     */
    void failed(PendingWork.Batch batch, RuntimeException failure, boolean current) {
        batch.calls().forEach(AcquireCall::answered);
        work.answered();
        if (!current) {
            batch.releases().forEach(release -> release.done(ReleaseOutcome.WAS_LOST));
            batch.failAttempts(queue.isClosed() ? Failures.closed(name) : failure);
            waitOn(batch, failure);
        } else if (Failures.isCertain(failure)) {
            if (LOG.isDebugEnabled()) {
                environment.log(() -> LOG.debug("Exchange at semaphore '{}' failed", name, failure));
            }
            batch.failAttempts(failure);
            failLeftOut(batch, failure);
            postpone(batch.releases(), failure);
            waitOn(batch, failure);
        } else {
            logUnknown(failure);
            if (!isOn()) {
                since = batch.sent();
            }
            whyUnknown = failure;
            work.resolveFirst(batch);
        }
    }

    /** What was due when the request was sent and found no room in it would wait for one time-out after the other. */
    private void failLeftOut(PendingWork.Batch batch, RuntimeException failure) {
        if (Failures.mayPass(failure)) {
            RuntimeException notSent = Failures.notSent(name, failure);
            queue.takeAttemptsUntil(batch.sent()).forEach(call -> call.fail(notSent));
        } else if (queue.isClosed()) {
            // They are refused one request after the other, and that is their end.
            return;
        }
        List<PendingWork.Release> postponed = work.postponeLeftOut();
        if (!postponed.isEmpty()) {
            unconfirmed(postponed, failure);
            retryLater();
        }
    }

    /** Holds that could not be given back now stay pending; their callers do not wait for it. */
    private void postpone(List<PendingWork.Release> postponed, RuntimeException failure) {
        if (postponed.isEmpty()) {
            return;
        }
        unconfirmed(postponed, failure);
        if (queue.isClosed()) {
            // The end of the session frees them. To try again and again would keep it from coming.
            return;
        }
        work.keep(postponed);
        retryLater();
    }

    private void unconfirmed(List<PendingWork.Release> releases, RuntimeException failure) {
        RuntimeException unconfirmed = Failures.unconfirmed(name, failure);
        releases.forEach(release -> release.failed(unconfirmed));
    }

    /** Waiting callers go on, unless waiting cannot help. */
    private void waitOn(PendingWork.Batch batch, RuntimeException failure) {
        if (Failures.mayPass(failure)) {
            began(batch.sent(), failure);
        } else {
            // A refusal is an answer: the outage is over.
            old = false;
            if (reason != null) {
                reason = null;
                work.resume();
            }
            retries.failed();
            queue.failWaiting(failure);
        }
    }

    /** The session ended before the batch was sent: what it held is gone, what it wants goes into the next one. */
    void notSent(PendingWork.Batch batch) {
        batch.releases().forEach(release -> release.done(ReleaseOutcome.WAS_LOST));
        work.answered();
        for (AcquireCall call : batch.calls()) {
            call.answered();
            if (!call.isDone() && call.isOnce()) {
                RuntimeException refusal = queue.refusal();
                if (refusal == null) {
                    queue.add(call);
                } else {
                    call.fail(refusal);
                }
            }
        }
        work.ask();
    }

    // The outcome of an exchange is unknown

    /** It could not be found out either. */
    void stillUnresolved(PendingWork.Batch batch, RuntimeException failure) {
        if (work.unresolved() == null) {
            return;
        }
        batch.failAttempts(Failures.unknown(name, failure));
        // A refusal is told as it is, as to those that wait: to try again would not help.
        RuntimeException notSent = Failures.mayPass(failure) ? Failures.notSent(name, failure) : failure;
        queue.takeAttempts().forEach(call -> call.fail(notSent));
        unconfirmed(batch.releases(), failure);
        unconfirmed(work.pending(), failure);
        waitOn(batch, failure);
        retryLater();
    }

    /** It is found out. */
    void resolved() {
        environment.log(() -> LOG.info("The exchange of unknown outcome at semaphore '{}' is resolved", name));
    }

    private void logUnknown(RuntimeException e) {
        environment.log(() -> {
            LOG.info(
                    "The outcome of an exchange at semaphore '{}' is unknown, it is found out: {}", name, e.toString());
            LOG.debug("Why the outcome at semaphore '{}' is unknown", name, e);
        });
    }

    // The session ended

    /**
     * What the old session was to give back is gone, and nobody will know what it was asked last.
     *
     * @param found what releases that were under way are told
     */
    void sessionEnded(ReleaseOutcome found) {
        work.takePending().forEach(release -> release.done(found));
        PendingWork.Batch open = work.unresolved();
        RuntimeException why = whyUnknown;
        work.resolved();
        whyUnknown = null;
        if (open != null) {
            open.releases().forEach(release -> release.done(found));
            // It was sent: that it changed nothing is not certain.
            open.failAttempts(
                    why == null || queue.isClosed()
                            ? Failures.sessionLost(name, queue.isClosed())
                            : Failures.unknownAtEnd(name, why));
        }
        work.ask();
    }

    // The backend does not answer

    private void began(long sent, RuntimeException failure) {
        if (!isOn()) {
            since = sent;
        }
        reason = failure;
        old = false;
        work.pause();
        retries.failed();
        try {
            failImpatient();
        } finally {
            retryLater();
        }
    }

    /** The backend answered. */
    void over() {
        whyUnknown = null;
        retried = 0;
        old = false;
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
        return reason != null && !old;
    }

    /**
     * Asks again after a while, whether somebody waits or something is to be given back. What is refused, or fails while others of
     * this client are answered, has a pause of its own before it joins them: their answers say nothing of it.
     */
    private void retryLater() {
        if (retryPlanned) {
            return;
        }
        boolean othersAnswered = answersBefore != retries.answers;
        answersBefore = retries.answers;
        if ((!isOn() || othersAnswered) && retried > 0) {
            Environment.Timer unused = combiner.later(this::join, retries.pause(retried));
        } else {
            join();
        }
        // Not before: what counts as planned without a timer, for want of memory, is never planned again.
        retryPlanned = true;
    }

    private void join() {
        retryPlanned = false;
        retries.later(() -> combiner.driveAfter(this::retry));
        retryPlanned = true;
    }

    private void retry() {
        retryPlanned = false;
        retried = Math.min(retried + 1, Retries.MOST_DOUBLINGS);
        work.retry();
        if (!queue.isAnyoneWaiting() && !work.isAnythingOwed()) {
            // Nobody asks any more, so nobody would hear of its end.
            old = true;
        }
    }

    /** A call begins to wait. */
    void arrived() {
        if (isOn()) {
            checkPatience();
        }
    }

    /** Ends a call whose time is over: it is refused, or fails if the backend has not answered what it was asked last. */
    void end(AcquireCall call) {
        RuntimeException why = reason == null ? whyUnknown : reason;
        if (why == null) {
            call.refuse();
            return;
        }
        PendingWork.Batch open = work.unresolved();
        boolean sent = call.isInFlight() || (open != null && open.calls().contains(call));
        String tried = Durations.format(Duration.ofMillis((environment.nanoTime() - start(call)) / 1_000_000));
        call.fail(sent ? Failures.unknownFor(name, tried, why) : Failures.awayFor(name, tried, why));
    }

    /** Since when a call puts up with the outage. */
    private long start(AcquireCall call) {
        return call.since() - since > 0 ? call.since() : since;
    }

    private void failImpatient() {
        long now = environment.nanoTime();
        for (AcquireCall head = queue.head(); head != null && now - start(head) >= patienceNanos; head = queue.head()) {
            queue.remove(head);
            end(head);
        }
        checkPatience();
    }

    /** The first in the queue came first, so its patience ends first. */
    private void checkPatience() {
        AcquireCall head = queue.head();
        if (head == null || checkPlanned) {
            return;
        }
        long left = patienceNanos - (environment.nanoTime() - start(head));
        combiner.later(this::patienceMayBeOver, Math.max(left, 1));
        checkPlanned = true;
    }

    private void patienceMayBeOver() {
        checkPlanned = false;
        if (isOn()) {
            failImpatient();
        }
    }

    /**
     * When a backend that did not answer is asked again, for all semaphores of one client: one of them tries at a time, at intervals
     * that grow with each failure and are jittered. Once anybody is answered, the others follow at once, one by one. So a
     * thousand names ask no more often during an outage than one does. Thread-safe; runs nothing under its lock.
     */
    static final class Retries {
        private static final long FIRST_NANOS = 20_000_000;
        static final long LONGEST_NANOS = 2_000_000_000;
        private static final long ONE_BY_ONE_NANOS = 1_000_000;
        private static final int MOST_DOUBLINGS = 16;

        private final Environment environment;
        private final Deque<Retry> waiting = new ArrayDeque<>();
        private volatile int failures;
        /** Counts how often a request was answered after one that was not. */
        private volatile int answers;

        private Environment.@Nullable Timer timer;

        private record Retry(Runnable task, long earliest) {}

        Retries(Environment environment) {
            this.environment = environment;
        }

        /** Runs a task on a worker when it is its turn; the task asks the backend, and says how that went. */
        synchronized void later(Runnable task) {
            Retry retry = new Retry(task, environment.nanoTime() + jittered(FIRST_NANOS));
            if (timer == null) {
                arm(retry);
            }
            waiting.add(retry);
        }

        /** Takes a task back whose turn has not come: it would have the others wait for nothing. */
        synchronized void leave(Runnable task) {
            waiting.removeIf(retry -> retry.task() == task);
        }

        /** A request was not answered, or refused. */
        synchronized void failed() {
            failures = Math.min(failures + 1, MOST_DOUBLINGS);
        }

        /** A request was answered. */
        void answered() {
            if (failures == 0) {
                return;
            }
            synchronized (this) {
                failures = 0;
                answers++;
                if (!waiting.isEmpty()) {
                    arm(waiting.element());
                }
            }
        }

        private void arm(Retry first) {
            long delay = failures > 0 ? pause(failures) : ONE_BY_ONE_NANOS;
            long earliest = first.earliest() - environment.nanoTime();
            Environment.Timer former = timer;
            timer = environment.schedule(this::next, Math.max(delay, earliest));
            if (former != null) {
                former.cancel();
            }
        }

        private long pause(int doublings) {
            return jittered(Math.min(FIRST_NANOS << doublings, LONGEST_NANOS));
        }

        private long jittered(long nanos) {
            return nanos / 2 + environment.random(nanos / 2 + 1);
        }

        private void next() {
            Runnable task = Combiner.NOTHING;
            try {
                synchronized (this) {
                    timer = null;
                    task = waiting.isEmpty() ? task : waiting.remove().task();
                    if (!waiting.isEmpty()) {
                        arm(waiting.element());
                    }
                }
            } finally {
                task.run();
            }
        }
    }
}
