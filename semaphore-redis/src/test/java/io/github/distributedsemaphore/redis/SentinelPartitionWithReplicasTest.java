package io.github.distributedsemaphore.redis;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.distributedsemaphore.tck.cluster.Cluster;
import io.github.distributedsemaphore.tck.cluster.ClusterTck;
import io.github.distributedsemaphore.tck.cluster.Network;
import java.io.IOException;

/** The cluster of {@link SentinelPartitionTest}, where a grant counts when a replica has it. Only with {@code -Dtck.clusters=true}. */
class SentinelPartitionWithReplicasTest extends ClusterTck {
    @Override
    protected Cluster start(Network network) throws IOException {
        assumeTrue(Boolean.getBoolean("tck.clusters"), "three servers are started with -Dtck.clusters=true only");
        return new SentinelPartitionTest.Sentinels(network, "&minReplicas=1");
    }
}
