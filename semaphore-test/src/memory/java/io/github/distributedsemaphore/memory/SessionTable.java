package io.github.distributedsemaphore.memory;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The life and death of sessions: the lock, the clock, leases, hints, and what a test can do to a server. */
abstract class SessionTable {
    protected final Map<String, MemorySemaphore> semaphores = new TreeMap<>();
    protected final List<ServerSession> sessions = new ArrayList<>();
    private final Set<MemoryBackend> crashed = new HashSet<>();
    private final List<Runnable> outbox = new ArrayList<>();
    private final LongSupplier nanoTime;
    private final Duration lease;
    private final Set<Capability> capabilities;
    private final Executor hints;

    SessionTable(LongSupplier nanoTime, Duration lease, Set<Capability> capabilities, Executor hints) {
        this.nanoTime = nanoTime;
        this.lease = lease;
        this.capabilities = Set.copyOf(capabilities);
        this.hints = hints;
    }

    /** Tells the time. */
    public final long now() {
        return nanoTime.getAsLong();
    }

    /** Tells the lease. */
    public final Duration lease() {
        return lease;
    }

    /** Tells the capabilities. */
    public final Set<Capability> capabilities() {
        return capabilities;
    }

    /** Returns the end of a lease that is counted from an instant. */
    protected Deadline leaseFrom(long instant) {
        return capabilities.contains(Capability.LEASE) ? Deadline.after(instant, lease) : Deadline.NEVER;
    }

    // What happens to a server

    /** A client dies without a word: nothing it sends from now on arrives. */
    public final void crash(MemoryBackend client) {
        List<ServerSession> dead = locked(() -> {
            crashed.add(client);
            return sessionsOf(client);
        });
        dead.forEach(this::vanish);
    }

    /** Somebody with access to the stored state takes a slot from its holder, who is not told. */
    public final boolean removeHolder(String name, int slot) {
        return locked(() -> semaphore(name).taken.remove(slot) != null);
    }

    /** The server takes a slot from its holder and tells it; returns false if nobody holds it. */
    public final boolean revoke(String name, int slot, String reason) {
        return locked(() -> {
            MemorySemaphore.Taken held = semaphore(name).taken.remove(slot);
            if (held != null) {
                outbox.add(() -> held.session().listener.lost(List.of(held.hold()), reason));
                wake(name, null);
            }
            return held != null;
        });
    }

    /** The server ends all sessions of a client and tells it. */
    public final void endSessions(MemoryBackend client, String reason) {
        locked(() -> {
            for (ServerSession session : sessionsOf(client)) {
                end(session);
                outbox.add(() -> session.listener.ended(reason));
            }
            return null;
        });
    }

    /** The server ends the session that holds a slot and tells it; returns false if nobody holds the slot. */
    public final boolean endSession(String name, int slot, String reason) {
        return locked(() -> {
            MemorySemaphore.Taken held = semaphore(name).taken.get(slot);
            if (held != null) {
                end(held.session());
                outbox.add(() -> held.session().listener.ended(reason));
            }
            return held != null;
        });
    }

    /** Somebody with access to the stored state removes a semaphore with its holders; nobody is told. */
    public final void wipe(String name) {
        locked(() -> {
            semaphore(name).limit = 0;
            semaphore(name).taken.clear();
            return null;
        });
    }

    /** Somebody with access to the stored state makes the epochs of all slots go on from a number. */
    public final void plantEpoch(String name, long epoch) {
        locked(() -> {
            semaphore(name).plantEpoch(epoch);
            return null;
        });
    }

    /** Somebody with access to the stored state adds slots beyond the limit; nobody is told. */
    public final void plantSlots(String name, int more) {
        locked(() -> {
            semaphore(name).plantSlots(more);
            return null;
        });
    }

    /** Shows what is held, in words, one by one. */
    public final List<String> held() {
        return locked(() -> {
            List<String> words = new ArrayList<>();
            semaphores.forEach((name, semaphore) -> semaphore.taken.forEach((slot, held) -> {
                HolderInfo holder = held.session().holder;
                words.add("slot " + slot + " of '" + name + "' by pid " + holder.pid() + " on " + holder.host()
                        + (holder.label().isEmpty() ? "" : " (" + holder.label() + ")"));
            }));
            return words;
        });
    }

    /** Counts the sessions that are open. */
    public final int openSessions() {
        return locked(sessions::size);
    }

    /** The client of a session is gone without a word: its connection breaks, its lease runs on. */
    protected void vanish(ServerSession session) {
        locked(() -> {
            session.hint = null;
            session.waiting = false;
            session.gone = true;
            if (capabilities.contains(Capability.LEASE)) {
                session.leaseEnd = session.leaseEnd.earlier(leaseFrom(now()));
            } else if (capabilities.contains(Capability.CRASH_RELEASE)) {
                end(session);
            }
            return null;
        });
    }

    // The inside

    /** Returns what is stored under a name, which may be that there is no such semaphore. */
    protected MemorySemaphore semaphore(String name) {
        return semaphores.computeIfAbsent(name, key -> newSemaphore());
    }

    protected MemorySemaphore newSemaphore() {
        return new MemorySemaphore();
    }

    final void requireNotCrashed(MemoryBackend client) {
        boolean dead = locked(() -> crashed.contains(client));
        if (dead) {
            throw new BackendUnavailableException("This client was crashed", null);
        }
    }

    static void requireLive(ServerSession session) {
        if (session.ended) {
            throw new BackendUnavailableException("The session for '" + session.name + "' has ended", null);
        }
    }

    private List<ServerSession> sessionsOf(MemoryBackend client) {
        return sessions.stream().filter(session -> session.client == client).toList();
    }

    final void end(ServerSession session) {
        session.ended = true;
        session.hint = null;
        session.waiting = false;
        sessions.remove(session);
        if (semaphore(session.name).giveBackAll(session)) {
            wake(session.name, session);
        }
    }

    /** Hints everybody who watches a name, but for the one who knows already. */
    protected void wake(String name, @Nullable ServerSession except) {
        for (ServerSession session : sessions) {
            Runnable hint = session.hint;
            if (session != except && hint != null && session.name.equals(name)) {
                outbox.add(hint);
            }
        }
    }

    private void endLeases() {
        long now = now();
        for (ServerSession session : List.copyOf(sessions)) {
            if (session.leaseEnd.isPast(now)) {
                session.leaseEnd = Deadline.NEVER;
                if (semaphore(session.name).giveBackAll(session)) {
                    wake(session.name, null);
                }
                if (session.gone) {
                    end(session);
                }
            }
        }
    }

    /** Does one step under the lock, after the leases that have ended by then, and sends the hints after it. */
    protected final <T> T locked(Supplier<T> step) {
        List<Runnable> due;
        try {
            synchronized (outbox) {
                endLeases();
                return step.get();
            }
        } finally {
            synchronized (outbox) {
                due = List.copyOf(outbox);
                outbox.clear();
            }
            due.forEach(hints::execute);
        }
    }
}
