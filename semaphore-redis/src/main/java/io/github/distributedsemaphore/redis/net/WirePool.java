package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/** One connection to each server that is used, for one thread at a time. Thread-safe. */
final class WirePool {
    private final RedisConnections connections;
    private final Map<HostAndPort, ReentrantLock> locks = new ConcurrentHashMap<>();
    private final Map<HostAndPort, RedisWire> wires = new ConcurrentHashMap<>();

    WirePool(RedisConnections connections) {
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

    /** A connection that nobody else has until this is closed. */
    record Taken(RedisWire wire, ReentrantLock lock) implements AutoCloseable {
        @Override
        public void close() {
            lock.unlock();
        }
    }
}
