package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.Hold;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The Consul sessions of one client at one semaphore. A session can hold one slot at most, for the holders' list of the
 * official format names sessions; it is used again, for making one costs two commits. A session that waits or holds is alive by its
 * renewals; an idle one lapses by itself. Thread-safe; talks to the server without its lock.
 */
final class SessionPool {
    /** Within which part of its time to live a session was confirmed that is taken without a question. */
    private static final int SURE = 4;

    private final SessionCalls calls;
    private final String subject;
    private final SessionCalls.SideBySide sideBySide;

    private final Map<String, SlotSession> all = new HashMap<>();
    private final Map<Hold, SlotSession> holders = new HashMap<>();
    private final Deque<SlotSession> idle = new ArrayDeque<>();

    /** The session whose contender entry is this client's place among those that wait; null if there is none. Not among the idle. */
    private @Nullable SlotSession place;

    /** When the entry of the place was written. */
    private long placeIndex;

    /** Whether a place is being made. */
    private boolean placing;

    private boolean closed;
    private int losses;

    SessionPool(SessionCalls calls, String subject, SessionCalls.SideBySide sideBySide) {
        this.calls = calls;
        this.subject = subject;
        this.sideBySide = sideBySide;
    }

    /**
     * Takes sessions out, idle ones first, all alive and confirmed so lately that a grant is valid for a while.
     *
     * @param withPlace whether that of the place may be taken, and then first: a caller that waits is served
     * @param end when to give up
     * @throws BackendUnavailableException if that is not possible now; then none is taken, and what was made is idle
     */
    List<SlotSession> take(int number, boolean withPlace, Deadline end) {
        List<SlotSession> taken = Collections.synchronizedList(new ArrayList<>());
        try {
            sideBySide.forEach(Collections.nCopies(number, end), each -> taken.add(takeOne(withPlace, each)));
            return taken;
        } catch (RuntimeException | Error e) {
            putBack(taken);
            throw e;
        }
    }

    private SlotSession takeOne(boolean withPlace, Deadline end) {
        for (SlotSession reused = poll(withPlace); reused != null; reused = poll(withPlace)) {
            boolean alive = false;
            boolean known = false;
            try {
                alive = calls.confirm(reused, SURE, end);
                known = true;
            } finally {
                if (!known) {
                    putBack(List.of(reused));
                }
            }
            if (alive) {
                return reused;
            }
            drop(reused);
            dropUnsure();
        }
        return register(calls.create(end), end);
    }

    /**
     * Forgets the idle sessions that would have to be asked for: where one has ended, the others mostly have too, by their age or with
     * their node, and each question is a round trip. One that is alive lapses.
     */
    private synchronized void dropUnsure() {
        List.copyOf(idle).stream()
                .filter(session -> !calls.isConfirmed(session, SURE))
                .forEach(this::drop);
    }

    private synchronized @Nullable SlotSession poll(boolean withPlace) {
        if (closed) {
            throw sessionClosed();
        }
        SlotSession kept = place;
        SlotSession session =
                withPlace && kept != null && kept.state == SlotSession.State.IDLE ? kept : idle.pollFirst();
        if (session != null) {
            session.state = SlotSession.State.BUSY;
        }
        return session;
    }

    /**
     * Takes a session to make a place with, unless there is one already: an idle one, or a new one if no exchange has others in its
     * hands. {@link #placed} has to follow.
     */
    @Nullable
    SlotSession takeForPlace(Deadline end) {
        synchronized (this) {
            boolean exchanging = all.values().stream().anyMatch(each -> each.state == SlotSession.State.BUSY);
            if (placing || place != null || (idle.isEmpty() && exchanging)) {
                return null;
            }
            placing = true;
        }
        SlotSession taken = null;
        try {
            taken = takeOne(false, end);
            return taken;
        } finally {
            if (taken == null) {
                placed(null, 0);
            }
        }
    }

    /**
     * Chooses a session to make a place with in an exchange, if none is left after it. {@link #placed} has to follow.
     *
     * @param leaving sessions that hold a slot until then
     * @param takers sessions that hold one from then on
     */
    @Nullable
    synchronized SlotSession chooseForPlace(Collection<SlotSession> leaving, Collection<SlotSession> takers) {
        if (placing || (place != null && !takers.contains(place))) {
            return null;
        }
        // One that has lapsed would make the whole transaction fail.
        SlotSession chosen = idle.stream().filter(calls::isFresh).findFirst().orElse(null);
        if (chosen != null) {
            idle.remove(chosen);
            chosen.state = SlotSession.State.BUSY;
        } else {
            chosen = leaving.stream()
                    .filter(session -> session.state != SlotSession.State.DEAD)
                    .findFirst()
                    .orElse(null);
        }
        placing = chosen != null;
        return chosen;
    }

    /**
     * Notes what became of a place that was to be made.
     *
     * @param index when its entry was written
     */
    synchronized void placed(@Nullable SlotSession session, long index) {
        placing = false;
        if (session != null && session.state != SlotSession.State.DEAD) {
            place = session;
            placeIndex = index;
        }
    }

    /** The index of the write that made the place last. */
    synchronized long placeIndex() {
        return placeIndex;
    }

    /** Returns the session of the place; null if there is none. */
    @Nullable
    synchronized SlotSession place() {
        return place;
    }

    /** Takes the session of the place out, and there is none any more; null if there was none, or an exchange uses it. */
    @Nullable
    synchronized SlotSession takePlace() {
        SlotSession kept = place;
        if (kept == null || kept.state != SlotSession.State.IDLE) {
            return null;
        }
        place = null;
        kept.state = SlotSession.State.BUSY;
        return kept;
    }

    /** Renews the session of a place when it is time to; if it has ended, there is no place any more. */
    void keepAlive(SlotSession kept, boolean seen, Deadline end) {
        boolean alive = seen ? calls.confirm(kept, 2, end) : calls.renew(kept, end);
        if (!alive) {
            drop(kept);
        }
    }

    private SlotSession register(SlotSession made, Deadline end) {
        synchronized (this) {
            if (!closed) {
                all.put(made.id(), made);
                return made;
            }
        }
        calls.destroy(made.id(), end);
        throw sessionClosed();
    }

    private BackendUnavailableException sessionClosed() {
        return new BackendUnavailableException(subject + ": the session is closed", null);
    }

    synchronized void putBack(Iterable<SlotSession> unused) {
        for (SlotSession session : unused) {
            if (session.state == SlotSession.State.BUSY) {
                session.state = SlotSession.State.IDLE;
                if (session != place) {
                    idle.addFirst(session);
                }
            }
        }
    }

    /** Forgets a session that has ended, or is to end. */
    synchronized void drop(SlotSession session) {
        session.state = SlotSession.State.DEAD;
        all.remove(session.id());
        idle.remove(session);
        place = session == place ? null : place;
        Hold hold = session.hold;
        if (hold != null) {
            holders.remove(hold, session);
        }
    }

    /** Ends a session. Returns whether the server has confirmed that: then nothing sent in its name has any effect. */
    boolean destroy(SlotSession session, Deadline end) {
        drop(session);
        return calls.destroy(session.id(), end);
    }

    /** The same for many. Returns the ids of those of which the server has confirmed it. */
    Set<String> destroyAll(Collection<SlotSession> sessions, Deadline end) {
        sessions.forEach(this::drop);
        return calls.destroyAll(sessions.stream().map(SlotSession::id).toList(), end);
    }

    /**
     * Ends the session of a hold that is given back. Returns whether the server has confirmed that; else the hold stays until it is
     * given back in another way, for the session may be alive. It is not used again.
     */
    boolean endRelease(Hold hold, SlotSession session, Deadline end) {
        boolean ended = destroy(session, end);
        synchronized (this) {
            if (!ended && !closed) {
                holders.put(hold, session);
            }
        }
        return ended;
    }

    /** Notes that a session of an exchange holds a slot now. */
    synchronized void granted(SlotSession session, Hold hold) {
        if (session.state != SlotSession.State.DEAD) {
            session.hold = hold;
            session.state = SlotSession.State.HELD;
            holders.put(hold, session);
            place = session == place ? null : place;
        }
    }

    /** Takes a hold out for giving it back; null if it is not held any more. */
    synchronized @Nullable SlotSession beginRelease(Hold hold) {
        SlotSession session = holders.get(hold);
        if (session != null && session.state == SlotSession.State.HELD) {
            session.state = SlotSession.State.RELEASING;
        }
        return session;
    }

    synchronized void released(Hold hold, SlotSession session) {
        holders.remove(hold, session);
        if (session.state == SlotSession.State.RELEASING) {
            session.state = SlotSession.State.BUSY;
            putBack(List.of(session));
        }
    }

    synchronized void notReleased(SlotSession session) {
        if (session.state == SlotSession.State.RELEASING) {
            session.state = SlotSession.State.HELD;
        }
    }

    /** Finds the session of a hold; null if it is not held or being given back. */
    synchronized @Nullable SlotSession holderOf(Hold hold) {
        SlotSession session = holders.get(hold);
        return session != null && session.state == SlotSession.State.HELD ? session : null;
    }

    /** Returns what is held now. */
    synchronized Map<Hold, SlotSession> held() {
        Map<Hold, SlotSession> held = new HashMap<>(holders);
        held.values().removeIf(session -> session.state != SlotSession.State.HELD);
        return held;
    }

    /** Notes that holds are lost, but for those that were given back meanwhile, and ends their sessions, which are of no more use. */
    void lose(Map<Hold, SlotSession> suspects, Deadline end) {
        Map<Hold, SlotSession> lost = new HashMap<>(suspects);
        synchronized (this) {
            lost.entrySet()
                    .removeIf(suspect -> suspect.getValue().state != SlotSession.State.HELD
                            || holders.get(suspect.getKey()) != suspect.getValue());
            losses += lost.size();
            lost.values().forEach(this::drop);
        }
        calls.destroyAll(lost.values().stream().map(SlotSession::id).toList(), end);
    }

    /** How many holds were lost so far: after a loss, what was known of the server is out of date. */
    synchronized int losses() {
        return losses;
    }

    synchronized Set<String> ids() {
        return new HashSet<>(all.keySet());
    }

    /** Those that hold nothing and are in no exchange's hands, that of the place too. */
    synchronized Set<String> idleIds() {
        return all.values().stream()
                .filter(session -> session.state == SlotSession.State.IDLE)
                .map(SlotSession::id)
                .collect(Collectors.toSet());
    }

    /** Forgets all sessions; from now on none is handed out. Returns their ids, none at the second call. */
    synchronized Set<String> close() {
        closed = true;
        Set<String> rest = ids();
        all.values().forEach(session -> session.state = SlotSession.State.DEAD);
        all.clear();
        holders.clear();
        idle.clear();
        place = null;
        return rest;
    }

    /** One Consul session of ours, good for one slot at a time. Guarded by its pool, but for its confirmations. */
    static final class SlotSession {
        private final String id;
        private volatile long confirmedNanos;
        private State state = State.BUSY;
        private @Nullable Hold hold;

        SlotSession(String id, long confirmedNanos) {
            this.id = id;
            this.confirmedNanos = confirmedNanos;
        }

        enum State {
            /** Can be taken for a new slot. */
            IDLE,
            /** In the hands of an exchange. */
            BUSY,
            HELD,
            /** Held, and about to be given back: that it is missing is no loss. */
            RELEASING,
            DEAD
        }

        String id() {
            return id;
        }

        /** Since when the server's time to live certainly runs: before the last confirmed request was sent. */
        long confirmedNanos() {
            return confirmedNanos;
        }

        void confirmed(long startNanos) {
            confirmedNanos = startNanos;
        }
    }
}
