package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.BackendSession;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What makes a client ask again for waiting callers: hints of the backend while it is watched, and a timer, since hints
 * may be lost. Guarded by the coordinator's lock, but for {@link #open}.
 */
final class Wakeups {
    private static final Logger LOG = LoggerFactory.getLogger(Wakeups.class);

    /**
     * A watch outlasts its last waiter by this, so that a busy semaphore does not open one for each. If that waiter was served, the time
     * counts from the next run of the timer, which is up to {@code recheck} away: a client that was served soon comes back.
     */
    private static final long LINGER_NANOS = 50_000_000;

    /** An adapter whose earliest time is past already is not asked without a pause. */
    private static final long SOONEST_NANOS = 1_000_000;

    /** Behind so many clients, one asks so many times more seldom: many have to be served before anything is for it. */
    private static final int FAR_BACK = 16;

    private static final int MORE_SELDOM = 8;

    /** After so long at most a watch that failed is tried again, however seldom this client asks: it hears no hint till then. */
    private static final long WATCH_AGAIN_NANOS = 1_000_000_000;

    private final String name;
    private final WaitQueue queue;
    private final PendingWork work;
    private final Combiner combiner;
    private final Environment environment;
    private final long recheckNanos;

    /** Waiting callers were refused; a slot that is freed before the watch begins is found by asking once more. */
    private boolean watchWanted;

    private BackendSession.@Nullable Watch watch;

    /** When a backend that could not be watched is tried again. */
    private Deadline watchAgain;

    /** When to ask again for waiting callers, with or without a hint. */
    private Deadline recheck = Deadline.NEVER;

    /** Whether many clients wait before this one. */
    private boolean farBack;

    /** Until when the watch outlasts the last waiter; never while somebody waits. */
    private Deadline lingerEnd = Deadline.NEVER;

    private Environment.@Nullable Timer timer;

    /** When the timer runs. */
    private Deadline check = Deadline.NEVER;

    private boolean idle;

    /** Since a waiter was refused the backend may keep a place for this client, also if no watch was opened. */
    private boolean placed;

    Wakeups(
            String name,
            WaitQueue queue,
            PendingWork work,
            Combiner combiner,
            Environment environment,
            ClientSettings settings) {
        this.name = name;
        this.queue = queue;
        this.work = work;
        this.combiner = combiner;
        this.environment = environment;
        this.recheckNanos = settings.recheck().toNanos();
        this.watchAgain = Deadline.at(environment.nanoTime());
    }

    /** Whether the watch is to be opened, or to be closed. */
    boolean isWatchDue() {
        return mayWatch() || isWatchIdle();
    }

    /** The waiters that were just refused need a watch first, and then another look: what was freed in between. */
    private boolean mayWatch() {
        return watchWanted && queue.isAnyoneWaiting() && watch == null && watchAgain.isPast(environment.nanoTime());
    }

    /** Whether the watch is to be opened now, which the caller does. */
    boolean takeWatch() {
        boolean due = mayWatch();
        watchWanted &= !due;
        return due;
    }

    /** Opens the watch, without the lock. Null if the backend cannot be watched now. */
    BackendSession.@Nullable Watch open(BackendSession session) {
        try {
            return session.watch(() -> combiner.passOnAfter(this::hint));
        } catch (RuntimeException | Error e) {
            environment.log(
                    () -> LOG.info("Semaphore '{}' cannot be watched now, asking on a timer: {}", name, e.toString()));
            return null;
        }
    }

    void opened(BackendSession.@Nullable Watch opened) {
        watch = opened;
        if (opened == null) {
            watchAgain = Deadline.at(environment.nanoTime() + Math.min(recheckNanos, WATCH_AGAIN_NANOS));
        } else {
            // Its waiters may have left meanwhile, or be served now without another refusal, which would set the timer.
            arm(Deadline.at(environment.nanoTime() + LINGER_NANOS));
        }
    }

    /** Whether the backend is still watched, or keeps a place, for waiters of whom none is left. */
    boolean isWatchIdle() {
        return idle && !queue.isAnyoneWaiting();
    }

    /** Forgets the watch of a session that has ended, or whose waiters are gone. Returns it for closing, without the lock. */
    BackendSession.@Nullable Watch forget() {
        BackendSession.Watch forgotten = watch;
        watch = null;
        watchAgain = Deadline.at(environment.nanoTime());
        // The next refusal wants it again. Without a session there is nothing to watch, and a wish would have the
        // backend asked
        // without a pause.
        watchWanted = false;
        idle = false;
        placed = false;
        return forgotten;
    }

    private void hint() {
        farBack = false;
        work.resume();
    }

    /** Waiters were refused: look again on a timer, and at hints. */
    void afterRefusal(Deadline earliest, int ahead) {
        watchWanted = true;
        placed = true;
        farBack = ahead >= FAR_BACK;
        boolean failed = watch == null && !watchAgain.isPast(environment.nanoTime());
        lookLater(failed ? earliest.earlier(watchAgain) : earliest);
    }

    /** Jittered, so that clients do not look in step. */
    private void lookLater(Deadline earliest) {
        lingerEnd = Deadline.NEVER;
        long longest = farBack && watch != null ? MORE_SELDOM * recheckNanos : recheckNanos;
        long jittered = longest / 2 + environment.random(Math.max(1, longest / 2));
        Deadline soonest = Deadline.at(environment.nanoTime() + SOONEST_NANOS);
        by(Deadline.at(environment.nanoTime() + jittered).earlier(earliest.isBefore(soonest) ? soonest : earliest));
    }

    /** Looks again at that time, or earlier. */
    void by(Deadline instant) {
        recheck = recheck.earlier(instant);
        arm(instant);
    }

    private void arm(Deadline instant) {
        if (!instant.isBefore(check)) {
            return;
        }
        // First, for it may find no memory: what counts as planned without a timer is never planned again.
        Environment.Timer next = combiner.later(this::onTimer, instant.nanosFrom(environment.nanoTime()));
        if (timer != null) {
            timer.cancel();
        }
        check = instant;
        timer = next;
    }

    /** Waiting callers were refused of whom none waits any more. */
    void refusedTooLate() {
        placed = true;
        lastWaiterLeft();
    }

    /** Nobody waits any more, and the last one was not served. */
    void lastWaiterLeft() {
        idle = false;
        if (isAnythingToClose()) {
            lingerEnd = Deadline.at(environment.nanoTime() + LINGER_NANOS);
            arm(lingerEnd);
        }
    }

    private void onTimer() {
        check = Deadline.NEVER;
        timer = null;
        long now = environment.nanoTime();
        if (queue.isAnyoneWaiting()) {
            askIfDue(now);
        } else {
            linger(now);
        }
    }

    private boolean isAnythingToClose() {
        return watch != null || placed;
    }

    private void linger(long now) {
        recheck = Deadline.NEVER;
        if (!isAnythingToClose()) {
            return;
        }
        if (lingerEnd.isNever()) {
            // The last waiter may have been served long ago.
            lingerEnd = Deadline.at(now + LINGER_NANOS);
        }
        idle = lingerEnd.isPast(now);
        if (!idle) {
            arm(lingerEnd);
        }
    }

    private void askIfDue(long now) {
        if (!recheck.isPast(now)) {
            // Never, if they are asked for at this moment. If they are granted, somebody has to close the watch.
            arm(recheck.isNever() ? Deadline.at(now + LINGER_NANOS) : recheck);
            return;
        }
        recheck = Deadline.NEVER;
        work.ask();
        // Also when the exchange does not come about now, for another one is under way, somebody has to look again.
        lookLater(Deadline.NEVER);
    }
}
