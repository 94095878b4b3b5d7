package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.consul.SessionPool.SlotSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Watches the prefix of a semaphore while somebody waits or holds: tells a waiter that a slot may have become free, and a holder
 * that its slot was taken from it. Thread-safe.
 */
final class PrefixWatcher implements PrefixFollower.Follower {
    /**
     * While nobody waits, a watch only tells of losses, and each write of our own answers a query: there is time between two of
     * them.
     */
    private static final long UNHURRIED_NANOS = 100_000_000;

    private final ConsulHttp operations;
    private final PrefixReader reader;
    private final SessionPool pool;
    private final SessionListener listener;
    private final Grace grace;
    private final PrefixFollower follower;

    private volatile @Nullable Runnable hint;
    private volatile boolean othersPresent;

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
        this.grace = new Grace(grace);
        this.follower = new PrefixFollower(watches, reader.prefix(), "semaphore-consul-watch " + name, this);
    }

    /** Whether another client has a contender entry, be it that it holds, waits or did so a while ago. */
    boolean othersPresent() {
        return othersPresent;
    }

    void hint(Runnable newHint) {
        hint = newHint;
        follower.wake();
    }

    void endHint() {
        hint = null;
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
        return hint == null ? UNHURRIED_NANOS : 0;
    }

    @Override
    public void failed() {
        grace.fails();
        loseIfGraceIsOver();
    }

    /** Declares lost what is held if the watch has failed for longer than it may. */
    void loseIfGraceIsOver() {
        Map<Hold, SlotSession> held = grace.isOver() ? pool.held() : Map.of();
        if (!held.isEmpty()) {
            listener.lost(held.keySet(), "the watch over " + reader.prefix() + "/ failed for longer than " + grace);
            pool.lose(held, operations.end());
        }
    }

    @Override
    public void look(ConsulHttp.Reply reply, boolean changed) {
        grace.works();
        PrefixView view;
        try {
            view = reply.isOk() ? reader.parse(reply.body()) : reader.empty();
        } catch (IncompatibleStateException e) {
            confirm(pool.held());
            runHint();
            return;
        }
        Map<Hold, SlotSession> missing = pool.held();
        missing.values().removeIf(session -> view.isHolder(session.id()));
        if (!missing.isEmpty()) {
            confirm(missing);
        }
        othersPresent = !pool.ids().containsAll(view.contenders().keySet());
        if (changed && (!view.exists() || !view.limitsAgree() || view.free(Set.of()) > 0)) {
            runHint();
        }
        showPresence(view);
    }

    /** A query may have been answered just before a grant, or by a server that is behind: only a fresh answer convicts. */
    private void confirm(Map<Hold, SlotSession> suspects) {
        String reason = "its session is not among the holders of " + reader.prefix() + "/" + KeyNames.LOCK;
        try {
            PrefixView view = reader.read(operations.end());
            suspects.values().removeIf(session -> view.isHolder(session.id()));
        } catch (IncompatibleStateException e) {
            reason = String.valueOf(e.getMessage());
        }
        List<Hold> lost = new ArrayList<>();
        suspects.forEach((hold, session) -> {
            if (pool.holderOf(hold) == session) {
                lost.add(hold);
            }
        });
        if (!lost.isEmpty()) {
            // Told first: the session is ended after that, and may take a while to.
            listener.lost(lost, reason);
            pool.lose(suspects, operations.end());
        }
    }

    private void runHint() {
        Runnable current = hint;
        if (current != null) {
            current.run();
        }
    }

    /** A waiting client has a contender entry, as the guide has it: others see that they are not alone. */
    private void showPresence(PrefixView view) {
        if (hint != null && Collections.disjoint(view.contenders().keySet(), pool.ids())) {
            Deadline end = operations.end();
            List<SlotSession> free = pool.takeToWait(end);
            free.forEach(session -> new Transaction()
                    .lock(view.key(session.id()), session.id(), "")
                    .send(operations, end));
            pool.putBack(free);
        }
    }

    /** For how long the watch may fail without a break. Thread-safe. */
    private static final class Grace {
        private final @Nullable Duration longest;
        private Deadline end = Deadline.NEVER;

        Grace(@Nullable Duration longest) {
            this.longest = longest;
        }

        synchronized void works() {
            end = Deadline.NEVER;
        }

        synchronized void fails() {
            if (longest != null && end.equals(Deadline.NEVER)) {
                end = Deadline.after(System.nanoTime(), longest);
            }
        }

        synchronized boolean isOver() {
            return end.isPast(System.nanoTime());
        }

        @Override
        public String toString() {
            return "'grace', " + longest;
        }
    }
}
