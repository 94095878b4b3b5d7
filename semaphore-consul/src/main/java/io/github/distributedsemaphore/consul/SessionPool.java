package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.Hold;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The Consul sessions of one client at one semaphore. A session can hold one slot at most, for the holders' list of the
 * official format names sessions; it is used again, for making one costs two commits. Who waits or holds is alive by its
 * renewals; what is idle lapses by itself. Thread-safe; talks to the server without its lock.
 */
final class SessionPool {
    private static final Logger LOG = LoggerFactory.getLogger(SessionPool.class);

    private final SessionCalls calls;
    private final String subject;
    private final long ttlNanos;

    private final Map<String, SlotSession> all = new HashMap<>();
    private final Map<Hold, SlotSession> holders = new HashMap<>();
    private final Deque<SlotSession> idle = new ArrayDeque<>();
    private boolean closed;
    private int losses;

    SessionPool(SessionCalls calls, String subject, Duration ttl) {
        this.calls = calls;
        this.subject = subject;
        this.ttlNanos = ttl.toNanos();
    }

    /**
     * Takes sessions out, idle ones first, all alive and confirmed so lately that a grant is valid for a while.
     *
     * @throws BackendUnavailableException if that is not possible now; then none is taken
     */
    List<SlotSession> take(int number) {
        List<SlotSession> taken = new ArrayList<>();
        try {
            while (taken.size() < number) {
                SlotSession reused = pollIdle();
                if (reused == null) {
                    taken.add(register(calls.create()));
                } else {
                    taken.add(reused);
                    if (!confirm(reused)) {
                        taken.remove(reused);
                        drop(reused);
                    }
                }
            }
            return taken;
        } catch (RuntimeException e) {
            putBack(taken);
            throw e;
        }
    }

    /** Takes a session to wait with, a new one only if there is none at all; none if all are in other hands. */
    List<SlotSession> takeToWait() {
        synchronized (this) {
            if (idle.isEmpty() && !all.isEmpty()) {
                return List.of();
            }
        }
        return take(1);
    }

    private synchronized @Nullable SlotSession pollIdle() {
        requireOpen();
        SlotSession session = idle.pollFirst();
        if (session != null) {
            session.become(SlotSession.State.BUSY);
        }
        return session;
    }

    private void requireOpen() {
        if (closed) {
            throw new BackendUnavailableException(subject + ": the session is closed", null);
        }
    }

    private SlotSession register(SlotSession made) {
        synchronized (this) {
            if (!closed) {
                all.put(made.id(), made);
                return made;
            }
        }
        calls.destroy(made.id());
        throw new BackendUnavailableException(subject + ": the session is closed", null);
    }

    /** Renews a session that was not lately; false if it has ended. */
    private boolean confirm(SlotSession session) {
        return System.nanoTime() - session.confirmedNanos() < ttlNanos / 4 || renew(session);
    }

    /** Renews a session; false if it has ended. */
    boolean renew(SlotSession session) {
        long start = System.nanoTime();
        boolean alive = calls.renew(session.id());
        if (alive) {
            synchronized (this) {
                session.confirmed(start);
            }
        }
        return alive;
    }

    /** Renews a session that was not for long: after a pause of this process a grant would end before its first renewal. */
    void freshen(SlotSession session) {
        if (System.nanoTime() - session.confirmedNanos() > ttlNanos / 2) {
            try {
                renew(session);
            } catch (SemaphoreException e) {
                LOG.debug("{}: a new permit could not be renewed, and is valid for a short time", subject, e);
            }
        }
    }

    synchronized void putBack(Iterable<SlotSession> unused) {
        for (SlotSession session : unused) {
            if (session.state() == SlotSession.State.BUSY) {
                session.become(SlotSession.State.IDLE);
                idle.addFirst(session);
            }
        }
    }

    /** Forgets a session that has ended, or is to end. */
    synchronized void drop(SlotSession session) {
        session.become(SlotSession.State.DEAD);
        all.remove(session.id());
        idle.remove(session);
        Hold hold = session.hold();
        if (hold != null) {
            holders.remove(hold, session);
        }
    }

    /** Ends a session. Returns whether the server has confirmed that: then nothing sent in its name has any effect. */
    boolean destroy(SlotSession session) {
        drop(session);
        return calls.destroy(session.id());
    }

    /** Notes that a session of an exchange holds a slot now. */
    synchronized void granted(SlotSession session, Hold hold) {
        if (session.state() != SlotSession.State.DEAD) {
            session.take(hold);
            holders.put(hold, session);
        }
    }

    /** Takes a hold out for giving it back; null if it is not held any more. */
    synchronized @Nullable SlotSession beginRelease(Hold hold) {
        SlotSession session = holders.get(hold);
        if (session != null) {
            session.become(SlotSession.State.RELEASING);
        }
        return session;
    }

    synchronized void released(Hold hold, SlotSession session) {
        holders.remove(hold, session);
        if (session.state() == SlotSession.State.RELEASING) {
            session.become(SlotSession.State.BUSY);
            putBack(List.of(session));
        }
    }

    synchronized void notReleased(SlotSession session) {
        if (session.state() == SlotSession.State.RELEASING) {
            session.become(SlotSession.State.HELD);
        }
    }

    /** Finds the session of a hold; null if it is not held or being given back. */
    synchronized @Nullable SlotSession holderOf(Hold hold) {
        SlotSession session = holders.get(hold);
        return session != null && session.state() == SlotSession.State.HELD ? session : null;
    }

    /** Returns what is held now. */
    synchronized Map<Hold, SlotSession> held() {
        Map<Hold, SlotSession> held = new HashMap<>(holders);
        held.values().removeIf(session -> session.state() != SlotSession.State.HELD);
        return held;
    }

    /** Notes that a hold is lost; false if it was given back meanwhile. Its session is of no more use. */
    boolean lose(Hold hold, SlotSession session) {
        synchronized (this) {
            if (session.state() != SlotSession.State.HELD || holders.get(hold) != session) {
                return false;
            }
            losses++;
            drop(session);
        }
        calls.destroy(session.id());
        return true;
    }

    /** Notes that all these holds are lost, and ends their sessions as far as the server answers; the others lapse. */
    void loseAll(Iterable<Hold> lost) {
        List<String> ids = new ArrayList<>();
        synchronized (this) {
            for (Hold hold : lost) {
                SlotSession session = holders.get(hold);
                if (session != null && session.state() == SlotSession.State.HELD) {
                    losses++;
                    drop(session);
                    ids.add(session.id());
                }
            }
        }
        endAll(ids);
    }

    /** Ends sessions; a server that does not answer for one will not answer for the others: they lapse. */
    void endAll(Iterable<String> ids) {
        for (String id : ids) {
            if (!calls.destroy(id)) {
                return;
            }
        }
    }

    /** How many holds were lost so far: after a loss, what was known of the server is out of date. */
    synchronized int losses() {
        return losses;
    }

    synchronized Set<String> ids() {
        return new HashSet<>(all.keySet());
    }

    /** Forgets all sessions; from now on none is handed out. Returns their ids, none at the second call. */
    synchronized Set<String> close() {
        closed = true;
        Set<String> rest = ids();
        all.values().forEach(session -> session.become(SlotSession.State.DEAD));
        all.clear();
        holders.clear();
        idle.clear();
        return rest;
    }
}
