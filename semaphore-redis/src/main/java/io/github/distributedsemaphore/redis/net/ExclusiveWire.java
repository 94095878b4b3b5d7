package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.redis.net.WireException.MovedException;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** One connection to each server for all transactions that are not exchanges, used by one thread at a time. Thread-safe. */
public final class ExclusiveWire {
    private final RedisConnections connections;
    private final Pool wires;

    public ExclusiveWire(RedisConnections connections) {
        this.connections = connections;
        this.wires = new Pool(connections);
    }

    /** Something to be done on the connection; null to be tried again, because somebody else changed something meanwhile. */
    @FunctionalInterface
    public interface Operation<T> {
        @Nullable
        T on(RedisWire wire, Deadline deadline);
    }

    /** As {@link #change}, for an operation that changes nothing: without an answer it has not failed halfway. */
    public <T> T look(String what, String key, Operation<T> operation) {
        try {
            return change(what, key, operation);
        } catch (OutcomeUnknownException e) {
            throw new BackendUnavailableException(what + ": no answer in time", e);
        }
    }

    /**
     * Does an operation, as often as it takes.
     *
     * @param what for messages
     * @param key on whose server
     */
    public <T> T change(String what, String key, Operation<T> operation) {
        Deadline deadline = connections.callDeadline();
        try {
            while (true) {
                T result = tried(key, operation, deadline);
                if (result != null) {
                    return result;
                }
                if (deadline.isPast(System.nanoTime())) {
                    throw new BackendUnavailableException(
                            what + ": too much traffic to get a transaction through in time", null);
                }
            }
        } catch (WireException e) {
            throw e.isOutcomeOpen() ? RedisFailures.uncertain(what, e) : RedisFailures.certain(what, e);
        } catch (RedisErrorException e) {
            throw RedisFailures.certain(what, e);
        }
    }

    private <T> @Nullable T tried(String key, Operation<T> operation, Deadline deadline) {
        try (Taken taken = wires.take(key, deadline)) {
            return operation.on(taken.wire(), deadline);
        } catch (MovedException e) {
            if (deadline.isPast(System.nanoTime())) {
                throw e;
            }
            Pause.until(RedisConnections.soon());
            return null;
        }
    }

    /** The server that has the key. */
    public HostAndPort serverOf(String key) {
        return connections.serverOf(key, connections.callDeadline());
    }

    /** One connection to each server that is used, for one thread at a time. Thread-safe. */
    static final class Pool {
        private final RedisConnections connections;
        private final Map<HostAndPort, ReentrantLock> locks = new ConcurrentHashMap<>();
        private final Map<HostAndPort, RedisWire> wires = new ConcurrentHashMap<>();

        Pool(RedisConnections connections) {
            this.connections = connections;
        }

        /**
         * Takes the connection to the server that has the key, which nobody else has until this is closed. It waits for no other
         * server: a node of a cluster that stands still must not cost the permits on the others.
         */
        Taken take(String key, Deadline deadline) {
            return connections.reach(key, deadline, server -> take(server, deadline));
        }

        private Taken take(HostAndPort server, Deadline deadline) {
            Deadline usual = connections.usualDeadline();
            ReentrantLock lock = locks.computeIfAbsent(server, unused -> new ReentrantLock());
            if (!InterruptShield.await(lock::tryLock, deadline)) {
                throw new WireException("the connection to " + server + " is busy", null, false);
            }
            try {
                return new Taken(wire(server, usual, deadline), lock);
            } catch (RuntimeException | Error e) {
                lock.unlock();
                throw e;
            }
        }

        private RedisWire wire(HostAndPort server, Deadline usual, Deadline deadline) {
            RedisWire known = wires.get(server);
            if (known != null && known.isOpen()) {
                return known;
            }
            if (usual.isPast(System.nanoTime())) {
                // Those before it got no connection either: one after the other they would try for the whole time-out.
                throw new WireException("there was no connection to " + server + " in time", null, false);
            }
            wires.values().removeIf(wire -> !wire.isOpen());
            RedisWire made = connections.open(server, deadline);
            wires.put(server, made);
            return made;
        }
    }

    record Taken(RedisWire wire, ReentrantLock lock) implements AutoCloseable {
        @Override
        public void close() {
            lock.unlock();
        }
    }
}
