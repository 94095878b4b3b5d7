package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.consul.SessionPool.SlotSession;
import org.jspecify.annotations.Nullable;

/**
 * What a client knows of a semaphore's prefix, and of the order of those that wait there: what it has read and written, and what
 * its watch has seen since. For one thread at a time.
 */
final class KnownPrefix {
    private final PrefixReader reader;
    private final SessionPool pool;
    private final PrefixWatcher watcher;
    private final WaitingOrder order = new WaitingOrder();

    /** Null if it has to be read. */
    private @Nullable PrefixView known;

    /** The last of the watch's looks that is part of it. */
    private PrefixWatcher.@Nullable Look lastLook;

    private int lossesThen;

    KnownPrefix(PrefixReader reader, SessionPool pool, PrefixWatcher watcher) {
        this.reader = reader;
        this.pool = pool;
        this.watcher = watcher;
    }

    /** Returns the newest view, with what the watch has seen; null if it has to be read, as after a loss. */
    @Nullable
    PrefixView newest() {
        PrefixWatcher.Look look = watcher.lastLook();
        if (look != null
                && (lastLook == null || lastLook.nanos() != look.nanos())
                && look.view().limitsAgree()) {
            lastLook = look;
            PrefixView last = known;
            // A watch may be answered by a server that is behind.
            known = last == null || last.lockIndex() <= look.view().lockIndex()
                    ? look.view()
                    : last.withWaitingOf(look.view(), pool.ids());
        }
        return lossesThen == pool.losses() ? known : null;
    }

    /** Whether the watch has seen this view a moment ago. */
    boolean isJustSeen(PrefixView view) {
        return lastLook != null && lastLook.isFresh() && view.equals(lastLook.view());
    }

    /** Reads it, see {@link PrefixReader#read}. */
    PrefixView read(Deadline end) {
        lossesThen = pool.losses();
        // What was seen by now is older than what is read.
        lastLook = watcher.lastLook();
        PrefixView view = reader.read(end);
        known = view;
        return view;
    }

    /** Notes what is there after a change of ours. */
    void note(PrefixView view) {
        known = view;
    }

    /** Notes that it has to be read, since nobody knows what is there. */
    void forget() {
        known = null;
    }

    /** Finds this client's position among those that wait. */
    WaitingOrder.Row row(PrefixView view) {
        SlotSession place = pool.place();
        return order.row(view, pool.ids(), place == null ? null : place.id(), System.nanoTime());
    }

    /** Notes for whom a plan leaves slots free. */
    void leaves(ExchangePlan plan) {
        order.call(plan.view(), plan.kept(), System.nanoTime());
    }
}
