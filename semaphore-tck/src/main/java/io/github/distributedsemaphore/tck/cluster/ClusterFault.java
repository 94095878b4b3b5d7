package io.github.distributedsemaphore.tck.cluster;

import io.github.distributedsemaphore.guarantees.Fault;
import java.util.ArrayList;
import java.util.List;

/** What happens to a cluster while a history is recorded. */
public enum ClusterFault {
    /** The leader is killed, and starts again with its data. */
    LEADER_KILLED,
    /** The leader is killed, and starts again without data after others have taken over. */
    LEADER_LOST,
    /** Another node is killed, and starts again with its data. */
    FOLLOWER_KILLED,
    /** All nodes are killed at once, and start again with their data. */
    ALL_KILLED,
    /** All nodes are killed and started again, one after the other. */
    ROLLING_RESTART,
    /** The leader is stopped, and goes on. */
    LEADER_SUSPENDED,
    /** Another node is stopped, and goes on. */
    FOLLOWER_SUSPENDED,
    /** The leader and the other nodes do not reach each other; all clients reach all nodes. */
    LEADER_CUT_FROM_PEERS,
    /** The leader and one client are on one side of a partition, all others on the other side. */
    PARTITION_WITH_A_CLIENT,
    /** The leader reaches its peers, and no client reaches it. */
    LEADER_CUT_FROM_CLIENTS,
    /** Nothing that the other nodes send reaches the leader, which they hear. */
    LEADER_DEAF,
    /** Nothing that the leader sends reaches the other nodes, which it hears. */
    LEADER_MUTE,
    /** The leader reaches nobody. */
    LEADER_ALONE,
    /** A node that does not lead reaches nobody. */
    FOLLOWER_ALONE,
    /** One client reaches no node. */
    CLIENT_ALONE,
    /** The leader's line is slow and loses packets. */
    LEADER_SLOW,
    /** The leader and a client that holds a permit are killed at once. */
    LEADER_AND_HOLDER_KILLED,
    /** The leader is killed, and starts again with its data, while a client changes the limit again and again. */
    LEADER_KILLED_WHILE_RESIZED,
    /** As {@link #PARTITION_WITH_A_CLIENT}, while a client on either side changes the limit again and again. */
    PARTITION_WHILE_RESIZED;

    /**
     * The faults that a backend may declare an exposure for, one of which a strike is for its clients.
     *
     * @param failedOver whether another node may have taken over because of the strike
     */
    List<Fault> faults(boolean failedOver) {
        List<Fault> faults = new ArrayList<>(List.of(Fault.LINK_CUT));
        if (strikesANode()) {
            faults.add(Fault.BACKEND_RESTART);
        }
        if (failedOver) {
            faults.add(Fault.FAIL_OVER);
        }
        return faults;
    }

    /** Whether it happens to one of the cluster's nodes, and not to clients alone. */
    boolean strikesANode() {
        return this != CLIENT_ALONE;
    }

    /** Whether it makes others take over if it lasts long enough. */
    boolean strikesTheLeader() {
        return name().contains("LEADER") || name().startsWith("PARTITION") || this == ROLLING_RESTART;
    }

    /** Whether a client changes the limit meanwhile. */
    boolean resizes() {
        return name().endsWith("WHILE_RESIZED");
    }
}
