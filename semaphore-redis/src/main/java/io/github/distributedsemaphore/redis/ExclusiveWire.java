package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** One connection to each server for all transactions that are not exchanges, used by one thread at a time. Thread-safe. */
final class ExclusiveWire {
    private final RedisConnections connections;
    private final ReentrantLock lock = new ReentrantLock();
    private final WirePool wires;

    ExclusiveWire(RedisConnections connections) {
        this.connections = connections;
        this.wires = new WirePool(connections);
    }

    /** Something to be done on the connection; null to be tried again, because somebody else changed something meanwhile. */
    @FunctionalInterface
    interface Operation<T> {
        @Nullable
        T on(RedisWire wire, Deadline deadline);
    }

    /** As {@link #change}, for an operation that changes nothing: without an answer it has not failed halfway. */
    <T> T look(String what, String key, Operation<T> operation) {
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
    <T> T change(String what, String key, Operation<T> operation) {
        Deadline deadline = connections.callDeadline();
        if (!Awaiting.lock(lock, deadline)) {
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
            Awaiting.pause(RedisConnections.soon());
            return null;
        }
    }

    /** The server that has the key. */
    HostAndPort serverOf(String key) {
        return connections.serverOf(key, connections.callDeadline());
    }
}
