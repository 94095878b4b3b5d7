package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.memory.MemorySemaphore;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.memory.ServerSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A server in memory whose stored state can be reached past its clients, and damaged. */
public class ProbedServer extends MemoryServer {
    private static final String FOREIGN = "a list";

    private final Map<String, String> damaged = new ConcurrentHashMap<>();
    private volatile String error = "";

    public ProbedServer() {
        this(Duration.ofSeconds(1), ALL);
    }

    public ProbedServer(Duration lease, Set<Capability> capabilities) {
        super(System::nanoTime, lease, capabilities, Runnable::run);
    }

    /** Refuses what is not a semaphore, and everything while the server fails. */
    protected void requireIntact(String name) {
        if (!error.isEmpty()) {
            throw new BackendUnavailableException("'" + name + "': the server says that it is " + error, null);
        }
        String found = damaged.get(name);
        if (found != null) {
            throw new IncompatibleStateException(
                    "'" + name + "' is not a semaphore but " + found + ": remove it by hand", null);
        }
    }

    @Override
    protected ExchangeResult exchange(ServerSession session, long sequence, ExchangeRequest request) {
        requireIntact(session.name());
        return super.exchange(session, sequence, request);
    }

    @Override
    protected Renewal renew(ServerSession session, Collection<Hold> holds) {
        requireIntact(session.name());
        return super.renew(session, holds);
    }

    @Override
    protected HoldState check(ServerSession session, Hold hold) {
        requireIntact(session.name());
        return super.check(session, hold);
    }

    @Override
    protected boolean create(String name, int limit) {
        requireIntact(name);
        return super.create(name, limit);
    }

    @Override
    protected Optional<SemaphoreDescription> describe(String name) {
        requireIntact(name);
        return super.describe(name);
    }

    @Override
    protected void resize(String name, int limit) {
        requireIntact(name);
        super.resize(name, limit);
    }

    /** What is damaged can be destroyed, which mends it; what is foreign cannot. */
    @Override
    protected boolean destroy(String name) {
        if (FOREIGN.equals(damaged.get(name))) {
            requireIntact(name);
        }
        return super.destroy(name);
    }

    /** From now on every call fails for this reason; for none if it is empty. */
    final void failWith(String reason) {
        error = reason;
    }

    /** The server was stopped and starts again with its data. */
    protected void restarted() {}

    /** All data are gone. */
    final void wipeAll() {
        locked(() -> List.copyOf(semaphores.keySet())).forEach(this::wipe);
    }

    /** Notes what a replica knows that hears nothing from now on. */
    final Map<String, List<MemorySemaphore.Taken>> snapshot() {
        return locked(() -> {
            Map<String, List<MemorySemaphore.Taken>> known = new HashMap<>();
            semaphores.keySet().forEach(name -> known.put(name, semaphore(name).held()));
            return known;
        });
    }

    /** A replica takes over: the grants since the snapshot are gone. Epochs go by the clock and do not fall back. */
    protected void restore(Map<String, List<MemorySemaphore.Taken>> known) {
        locked(() -> {
            semaphores.forEach((name, semaphore) -> semaphore.forgetAllBut(known.getOrDefault(name, List.of())));
            return true;
        });
    }

    /** Reaches the stored state past the clients. */
    public StateProbe probe() {
        return new Probe();
    }

    private final class Probe implements StateProbe {
        @Override
        public void wipe(String name) {
            ProbedServer.this.wipe(name);
        }

        @Override
        public void removeHolder(String name, int slot) {
            if (!ProbedServer.this.removeHolder(name, slot)) {
                throw new AssertionError("nobody holds slot " + slot + " of '" + name + "'");
            }
        }

        @Override
        public List<String> corruptions() {
            return List.of("a half-written record", "a record of format 99");
        }

        @Override
        public void corrupt(String name, String kind) {
            damaged.put(name, kind);
        }

        @Override
        public void plantEpoch(String name, long epoch) {
            ProbedServer.this.plantEpoch(name, epoch);
        }

        @Override
        public void plantSlots(String name, int more) {
            ProbedServer.this.plantSlots(name, more);
        }

        @Override
        public void occupy(String name) {
            damaged.put(name, FOREIGN);
        }

        @Override
        public String occupant(String name) {
            return damaged.getOrDefault(name, "nothing");
        }

        @Override
        public void remove(String name) {
            damaged.remove(name);
            destroy(name);
        }
    }
}
