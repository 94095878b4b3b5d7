package io.github.distributedsemaphore.tck.cluster;

import java.time.Duration;
import java.util.List;

/** A cluster on a {@link Network}, as the author of an adapter describes it for {@link ClusterTck}. For one thread at a time. */
public interface Cluster extends AutoCloseable {
    /**
     * Says what it consists of.
     *
     * @return such as {@code Redis 7.0.15: one primary, two replicas, three sentinels}
     */
    String form();

    /**
     * Lists its servers.
     *
     * @return the same nodes each time, in the same order
     */
    List<Node> nodes();

    /**
     * Finds the node that decides now about a semaphore: the primary that has it, or the leader of all.
     *
     * @param semaphore its name
     * @return one of {@link #nodes}
     * @throws RuntimeException if there is none now, or nobody says; it is asked again
     */
    Node leaderOf(String semaphore);

    /**
     * Tells whether one node decides about all of a semaphore. Where each decides about a part, such as some of its slots, a fault of any
     * node may have another one take over what it decided about, and {@link #leaderOf} does not show it.
     *
     * @return true by default
     */
    default boolean hasOneLeader() {
        return true;
    }

    /**
     * Returns what clients on a host connect to.
     *
     * @param client the host
     * @return a URI with its settings
     */
    String uri(Host client);

    /**
     * Says after how long at most the nodes that are left usually serve again without their leader. Half of the faults last longer.
     *
     * @return the time
     */
    Duration failOver();

    /**
     * Says what keeps the cluster from being whole, which it is if all nodes run, know each other and have each other's data.
     *
     * @return what is missing or behind, for people; empty if nothing is
     * @throws RuntimeException if that cannot be told, which it cannot if a node does not answer; the cluster is not whole then
     */
    String missing();

    /**
     * Tells whether a node that lost its data may come back under its old name without an operator.
     *
     * @return true by default
     */
    default boolean mayStartEmpty() {
        return true;
    }

    /**
     * Does what an operator does where a cluster does not become whole by itself after a fault, which is each time that four times {@link #failOver}
     * have passed, or where permits stay taken that nobody has. The figures tell how often. By default it does nothing.
     */
    default void repair() {}

    /**
     * Says what the servers have stored of a semaphore, for the case that its permits do not become free.
     *
     * @param semaphore its name
     * @return what an operator would look at; empty by default
     * @throws RuntimeException if no server says it
     */
    default String stored(String semaphore) {
        return "";
    }

    /** Ends what does not run on a node. The kit has ended the nodes, and removes the network afterwards. */
    @Override
    default void close() {}
}
