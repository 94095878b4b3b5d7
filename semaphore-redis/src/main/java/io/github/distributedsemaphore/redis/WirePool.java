package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import java.util.HashMap;
import java.util.Map;

/** One connection to each server that is used. For one thread at a time. */
final class WirePool {
    private final RedisConnections connections;
    private final Map<HostAndPort, RedisWire> wires = new HashMap<>();

    WirePool(RedisConnections connections) {
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
