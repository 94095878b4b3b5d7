package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.redis.net.WireException.MovedException;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** One connection to each server for all transactions that are not exchanges, used by one thread at a time. Thread-safe. */
public final class ExclusiveWire {
    private final RedisConnections connections;
    private final ReentrantLock lock = new ReentrantLock();
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
        if (!InterruptShield.await(lock::tryLock, deadline)) {
            throw new BackendUnavailableException(what + ": the connection is busy, nothing was changed", null);
        }
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
        } finally {
            lock.unlock();
        }
    }

    private <T> @Nullable T tried(String key, Operation<T> operation, Deadline deadline) {
        try {
            return operation.on(wires.wire(key, deadline), deadline);
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

    /** One connection to each server that is used. For one thread at a time. */
    static final class Pool {
        private final RedisConnections connections;
        private final Map<HostAndPort, RedisWire> wires = new HashMap<>();

        Pool(RedisConnections connections) {
            this.connections = connections;
        }

        /** The connection to the server that has the key. */
        RedisWire wire(String key, Deadline deadline) {
            RedisWire known = wires.get(connections.serverOf(key, deadline));
            if (known != null && known.isOpen()) {
                return known;
            }
            wires.values().removeIf(wire -> !wire.isOpen());
            RedisWire made = connections.open(key, deadline);
            wires.put(made.server(), made);
            return made;
        }
    }
}
