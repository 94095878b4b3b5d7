package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;

/**
 * The kit on a cluster of three servers, with their data on disk, through one that does not lead, and with the sections that stop
 * the whole cluster. Only with {@code -Dkit.cluster=true}: it takes ten minutes and a machine that does little else.
 */
class ClusterConsulTckTest extends SemaphoreTck {
    private static final int SIZE = 3;

    private static ConsulAgent follower;

    @BeforeAll
    static void start() throws IOException {
        Assumptions.assumeTrue(
                Boolean.getBoolean("kit.cluster"), "three servers are started with -Dkit.cluster=true only");
        Path data = Files.createTempDirectory("consul-kit");
        String root = UUID.randomUUID().toString();
        List<ConsulAgent> servers = ConsulAgent.cluster(data, SIZE, root, ConsulServer.rights(root, "allow"));
        // After the kit has waited there until what the tests left is gone.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            servers.forEach(ConsulAgent::close);
            ConsulControl.deleteTree(data);
        }));
        ConsulAgent leader = ConsulAgent.leaderOf(servers);
        follower =
                servers.stream().filter(server -> server != leader).findFirst().orElseThrow();
    }

    @Override
    public SemaphoreTckHarness harness() {
        return ConsulHarness.ofNode(follower.server(), SIZE);
    }
}
