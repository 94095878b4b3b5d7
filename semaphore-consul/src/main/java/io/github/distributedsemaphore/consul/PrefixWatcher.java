package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.consul.AbortableHttpClient.Call;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SessionListener;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches the prefix of a semaphore by one blocking query after the other: tells a waiter that a slot may have become free,
 * and a holder that its slot was taken from it. Runs on a thread of its own while somebody waits or holds, and a little
 * longer. Thread-safe.
 */
final class PrefixWatcher {
    private static final Logger LOG = LoggerFactory.getLogger(PrefixWatcher.class);

    /** For how long the server keeps a query without news; it adds up to a sixteenth. */
    static final int WAIT_SECONDS = 10;

    /**
     * While nobody waits, a watch only tells of losses, and each write of our own answers a query: there is time between two of
     * them.
     */
    private static final long UNHURRIED_NANOS = 100_000_000;

    /** For how long the thread stays with nothing to watch: slots come and go faster than threads should. */
    private static final long LINGER_NANOS = 1_000_000_000;

    private static final long FIRST_PAUSE_NANOS = 20_000_000;
    private static final long LONGEST_PAUSE_NANOS = 1_000_000_000;

    private final ConsulHttp operations;
    private final ConsulHttp watches;
    private final PrefixReader reader;
    private final SessionPool pool;
    private final SessionListener listener;
    private final String name;
    private final WatchGrace grace;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Condition needed = lock.newCondition();
    private boolean running;
    private boolean stopped;
    private @Nullable Runnable hint;
    private @Nullable Call call;
    private volatile boolean othersPresent;

    PrefixWatcher(
            ConsulHttp operations,
            ConsulHttp watches,
            PrefixReader reader,
            SessionPool pool,
            SessionListener listener,
            String name,
            WatchGrace grace) {
        this.operations = operations;
        this.watches = watches;
        this.reader = reader;
        this.pool = pool;
        this.listener = listener;
        this.name = name;
        this.grace = grace;
    }

    /** Whether another client has a contender entry, be it that it holds, waits or did so a while ago. */
    boolean othersPresent() {
        return othersPresent;
    }

    void hint(Runnable newHint) {
        lock.lock();
        try {
            hint = newHint;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        start();
    }

    void endHint() {
        lock.lock();
        try {
            hint = null;
        } finally {
            lock.unlock();
        }
    }

    void start() {
        lock.lock();
        try {
            if (running || stopped) {
                needed.signalAll();
                return;
            }
            Thread thread = new Thread(this::run, "semaphore-consul-watch " + name);
            thread.setDaemon(true);
            thread.start();
            running = true;
        } finally {
            lock.unlock();
        }
    }

    /** Ends the watch for good, at once. */
    void stop() {
        lock.lock();
        try {
            stopped = true;
            hint = null;
            if (call != null) {
                call.abort();
            }
            changed.signalAll();
            needed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void run() {
        boolean inOrder = false;
        try {
            watch();
            inOrder = true;
        } finally {
            if (!inOrder) {
                // Of an error, such as a lack of memory: the next exchange starts the watch again.
                ended();
            }
        }
    }

    private void ended() {
        lock.lock();
        try {
            running = false;
        } finally {
            lock.unlock();
        }
    }

    private void watch() {
        long index = 0;
        long pause = FIRST_PAUSE_NANOS;
        for (Call next = begin(); next != null; next = begin()) {
            try {
                ConsulHttp.Reply reply = watches.get(
                        next,
                        PrefixReader.listing(reader.prefix()),
                        "recurse",
                        "index=" + index,
                        "wait=" + WAIT_SECONDS + "s");
                if (!reply.isOk() && reply.status() != 404) {
                    throw new BackendUnavailableException("Consul answered " + reply.text(), null);
                }
                grace.works();
                look(reply, reply.index() != index);
                // An index that has gone back belongs to another life of the server; the next query starts from the
                // beginning.
                index = reply.index() < index ? 0 : reply.index();
                pause = FIRST_PAUSE_NANOS;
                if (reply.status() == 404) {
                    // Where nothing is stored every write elsewhere answers the query.
                    pause(FIRST_PAUSE_NANOS);
                }
                pauseUnlessHinted();
            } catch (NoReplyException | RuntimeException e) {
                // Whatever it is, also of a hint: without this thread nobody would hear of anything any more.
                index = 0;
                if (!isStopped()) {
                    LOG.debug("Watching semaphore '{}' failed, trying again", name, e);
                    grace.fails();
                    loseIfGraceIsOver();
                    pause(pause);
                    pause = Math.min(LONGEST_PAUSE_NANOS, pause * 2);
                }
            }
        }
    }

    /** Declares lost what is held if the watch has failed for longer than it may. */
    void loseIfGraceIsOver() {
        Map<Hold, SlotSession> held = grace.isOver() ? pool.held() : Map.of();
        if (!held.isEmpty()) {
            listener.lost(held.keySet(), "the watch over " + reader.prefix() + "/ failed for longer than " + grace);
            pool.lose(held, operations.end());
        }
    }

    /** Prepares the next query; null if none is needed any more. */
    private @Nullable Call begin() {
        lock.lock();
        try {
            await(needed, LINGER_NANOS, () -> !isIdle());
            if (stopped || isIdle()) {
                running = false;
                call = null;
                return null;
            }
            call = watches.waitingCall();
            return call;
        } finally {
            lock.unlock();
        }
    }

    private boolean isIdle() {
        return hint == null && pool.held().isEmpty();
    }

    private boolean isStopped() {
        lock.lock();
        try {
            return stopped;
        } finally {
            lock.unlock();
        }
    }

    private void pauseUnlessHinted() {
        pause(UNHURRIED_NANOS, () -> hint != null);
    }

    private void pause(long nanos) {
        pause(nanos, () -> false);
    }

    private void pause(long nanos, BooleanSupplier end) {
        lock.lock();
        try {
            await(changed, nanos, end);
        } finally {
            lock.unlock();
        }
    }

    private void await(Condition condition, long nanos, BooleanSupplier end) {
        try {
            long left = nanos;
            while (!stopped && !end.getAsBoolean() && left > 0) {
                left = condition.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            LOG.debug("Somebody interrupted the watch over semaphore '{}', which goes on", name);
        }
    }

    private void look(ConsulHttp.Reply reply, boolean changed) {
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
        Runnable current;
        lock.lock();
        try {
            current = hint;
        } finally {
            lock.unlock();
        }
        if (current != null) {
            current.run();
        }
    }

    /** A waiting client has a contender entry, as the guide has it: others see that they are not alone. */
    private void showPresence(PrefixView view) {
        lock.lock();
        try {
            if (hint == null || stopped) {
                return;
            }
        } finally {
            lock.unlock();
        }
        if (Collections.disjoint(view.contenders().keySet(), pool.ids())) {
            Deadline end = operations.end();
            List<SlotSession> free = pool.takeToWait(end);
            free.forEach(session -> new Transaction()
                    .lock(view.key(session.id()), session.id(), "")
                    .send(operations, end));
            pool.putBack(free);
        }
    }
}
