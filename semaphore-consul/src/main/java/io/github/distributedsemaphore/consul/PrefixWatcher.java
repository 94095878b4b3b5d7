package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.consul.PrefixView.Contender;
import io.github.distributedsemaphore.consul.SessionPool.SlotSession;
import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches the prefix of a semaphore while somebody waits or holds: tells a waiter that a slot may have become free, and a holder
 * that its slot was taken from it. Thread-safe.
 */
final class PrefixWatcher implements PrefixFollower.Follower {
    private static final Logger LOG = LoggerFactory.getLogger(PrefixWatcher.class);

    /**
     * While nobody waits, a watch only tells of losses, and each write of our own answers a query: there is time between two of
     * them.
     */
    private static final long UNHURRIED_NANOS = 100_000_000;

    private final ConsulHttp operations;
    private final PrefixReader reader;
    private final SessionPool pool;
    private final SessionListener listener;
    /** For how long the watch may fail without a break; null for any time. */
    private final @Nullable Duration grace;

    private final PrefixFollower follower;

    /** When the watch has failed for that long; changed by its own thread only. */
    private volatile Deadline graceEnd = Deadline.NEVER;

    private volatile @Nullable Runnable hint;
    private volatile @Nullable Look lastLook;

    /** For how long a caller that waits does without another look, see {@link WaitingOrder#pause}. */
    private volatile long farBackNanos;

    /** What the first caller wants that was not served and goes on waiting; 0 if all were served. */
    private volatile int wanted = 1;

    /** When callers have been refused for so long that their place cannot wait for a look any more. */
    private volatile Deadline placeDue = Deadline.NEVER;

    PrefixWatcher(
            ConsulHttp operations,
            ConsulHttp watches,
            PrefixReader reader,
            SessionPool pool,
            SessionListener listener,
            String name,
            @Nullable Duration grace) {
        this.operations = operations;
        this.reader = reader;
        this.pool = pool;
        this.listener = listener;
        this.grace = grace;
        this.follower = new PrefixFollower(watches, reader.prefix(), "semaphore-consul-watch " + name, this);
    }

    /**
     * What the watch has read.
     *
     * @param nanos when it was answered
     */
    record Look(PrefixView view, long nanos) {
        /** Whether so little time has gone by that a caller may wait upon it: a server that is gone does not show in it. */
        boolean isFresh() {
            return System.nanoTime() - nanos < UNHURRIED_NANOS;
        }
    }

    /** What the watch has read last; null if it read nothing yet, or failed. */
    @Nullable
    Look lastLook() {
        return lastLook;
    }

    /**
     * Says what the first caller wants that goes on waiting, and needs a place; 0 if none does.
     *
     * @param served whether another caller that waited is served
     */
    void waitsFor(int permits, boolean served) {
        wanted = permits;
        placeDue = permits == 0 || served
                ? Deadline.NEVER
                : placeDue.earlier(Deadline.at(System.nanoTime() + UNHURRIED_NANOS));
    }

    void hint(Runnable newHint) {
        hint = newHint;
        follower.wake();
    }

    void endHint() {
        hint = null;
        placeDue = Deadline.NEVER;
        if (pool.place() != null) {
            listener.execute(this::leavePlace);
        }
    }

    void start() {
        follower.wake();
    }

    /** Ends the watch for good, at once. */
    void stop() {
        hint = null;
        follower.stop();
    }

    @Override
    public boolean isNeeded() {
        return hint != null || !pool.held().isEmpty();
    }

    @Override
    public long pauseNanos() {
        if (hint == null) {
            return UNHURRIED_NANOS;
        }
        return pool.held().isEmpty() ? farBackNanos : Math.min(farBackNanos, UNHURRIED_NANOS);
    }

    @Override
    public void failed() {
        lastLook = null;
        if (grace != null && graceEnd.equals(Deadline.NEVER)) {
            graceEnd = Deadline.after(System.nanoTime(), grace);
        }
        loseIfGraceIsOver();
    }

    /** While nobody needs the watch it does not fail: the next one begins its grace anew. */
    @Override
    public void ended() {
        graceEnd = Deadline.NEVER;
    }

    /** Declares lost what is held if the watch has failed for longer than it may. */
    void loseIfGraceIsOver() {
        Map<Hold, SlotSession> held = graceEnd.isPast(System.nanoTime()) ? pool.held() : Map.of();
        if (!held.isEmpty()) {
            listener.lost(
                    held.keySet(), "the watch over " + reader.prefix() + "/ failed for longer than 'grace', " + grace);
            pool.lose(held, operations.end());
        }
    }

    @Override
    public void look(ConsulHttp.Reply reply, boolean changed) {
        PrefixView view;
        try {
            view = reply.isOk() ? reader.parse(reply.body()) : reader.empty();
        } catch (IncompatibleStateException e) {
            lastLook = null;
            confirm(pool.held());
            graceEnd = Deadline.NEVER;
            runHint();
            return;
        }
        lastLook = new Look(view, System.nanoTime());
        Map<Hold, SlotSession> missing = pool.held();
        missing.entrySet()
                .removeIf(hold -> view.isHeld(hold.getKey(), hold.getValue().id()));
        if (!missing.isEmpty()) {
            confirm(missing);
        }
        // Not before: an answer that is not Consul's, or a suspicion that cannot be confirmed, is a failure.
        graceEnd = Deadline.NEVER;
        SlotSession place = pool.place();
        farBackNanos =
                WaitingOrder.pause(view, place == null ? null : place.id()).toNanos();
        if (changed && (!view.exists() || !view.limitsAgree() || view.free(Set.of()) > 0)) {
            runHint();
        }
        keepPlace(view, reply.index());
    }

    /** A query may have been answered just before a grant, or by a server that is behind: only a fresh answer convicts. */
    private void confirm(Map<Hold, SlotSession> suspects) {
        String reason = "its session is not among the holders of " + reader.prefix() + "/" + KeyNames.LOCK;
        try {
            PrefixView view = reader.read(operations.end());
            suspects.entrySet()
                    .removeIf(hold -> view.isHeld(hold.getKey(), hold.getValue().id()));
        } catch (IncompatibleStateException e) {
            reason = String.valueOf(e.getMessage());
        }
        suspects.entrySet().removeIf(suspect -> pool.holderOf(suspect.getKey()) != suspect.getValue());
        if (!suspects.isEmpty()) {
            // Told first: the session is ended after that, and may take a while to.
            listener.lost(suspects.keySet(), reason);
            pool.lose(suspects, operations.end());
        }
    }

    private void runHint() {
        Runnable current = hint;
        if (current != null) {
            current.run();
        }
    }

    /** A client that waits has a contender entry, as the guide has it. That this fails does not mean that the watch does. */
    private void keepPlace(PrefixView view, long index) {
        SlotSession place = pool.place();
        try {
            if (hint == null) {
                leavePlace();
            } else if (place != null) {
                pool.keepAlive(place, view.contenders().containsKey(place.id()), operations.end());
                makeSpoiledPlace(view, index, place);
            } else {
                makePlace(view);
            }
        } catch (SemaphoreException e) {
            LOG.debug("The place at {} is left to the next look, or to an exchange", reader.prefix(), e);
        }
    }

    /**
     * Makes the place of callers that have been refused for a while: a query that is open may be answered ten seconds later only. Those
     * that are served sooner need none.
     */
    void makeDuePlace(PrefixView view) {
        if (hint != null && pool.place() == null && placeDue.isPast(System.nanoTime())) {
            listener.execute(() -> keepPlace(view, 0));
        }
    }

    /**
     * Makes a place again whose entry does not say any more what this client waits for: an exchange that was overtaken has written its
     * slot there, somebody has deleted it, or the caller has left that wanted so many, and less would be kept for this client. What
     * was seen may be older than the entry, and says nothing then.
     *
     * @param index of what was seen
     */
    private void makeSpoiledPlace(PrefixView view, long index, SlotSession place) {
        Contender entry = view.contenders().get(place.id());
        long made = pool.placeIndex();
        int permits = wanted;
        boolean spoiled = entry == null
                ? index > made
                : permits > 0 && entry.modifyIndex() >= made && (entry.waiting() == 0 || entry.waiting() > permits);
        SlotSession taken = spoiled ? pool.takePlace() : null;
        if (taken != null) {
            pool.putBack(List.of(taken));
            makePlace(view);
        }
    }

    private void makePlace(PrefixView view) {
        Deadline end = operations.end();
        // Once: an exchange may serve the caller meanwhile, and an entry that says 0 is none.
        int permits = wanted;
        SlotSession taken = hint != null && permits > 0 && view.exists() ? pool.takeForPlace(end) : null;
        if (taken != null) {
            Transaction.Status status = Transaction.Status.UNKNOWN;
            long index = 0;
            try {
                Transaction entry =
                        new Transaction().lock(view.key(taken.id()), taken.id(), Contender.waitingValue(permits));
                Transaction.Outcome outcome = entry.send(operations, end);
                status = outcome.status();
                index = outcome.indexes().getOrDefault(view.key(taken.id()), 0L);
            } finally {
                pool.placed(status == Transaction.Status.OK ? taken : null, index);
                putBack(taken, status, end);
            }
            // The last caller may have given up meanwhile, when there was no place yet to leave.
            leavePlace();
        }
    }

    /** Nobody waits any more: the others need not leave anything to this client. What fails is passed over. */
    private void leavePlace() {
        SlotSession taken = hint == null ? pool.takePlace() : null;
        if (taken != null) {
            Deadline end = operations.end();
            Transaction delete = new Transaction().delete(reader.prefix() + "/" + taken.id());
            putBack(taken, delete.send(operations, end).status(), end);
        }
    }

    /** A request that is still under way would change the entry of the slot that the session holds by then. */
    private void putBack(SlotSession taken, Transaction.Status status, Deadline end) {
        if (status == Transaction.Status.UNKNOWN) {
            pool.destroy(taken, end);
        } else {
            pool.putBack(List.of(taken));
        }
    }
}
