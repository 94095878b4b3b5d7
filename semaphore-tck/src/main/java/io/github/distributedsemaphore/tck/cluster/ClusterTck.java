package io.github.distributedsemaphore.tck.cluster;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.GsonBuilder;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.support.Durations;
import io.github.distributedsemaphore.tck.agent.AgentPool;
import io.github.distributedsemaphore.tck.harness.AgentLauncher;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Histories of a cluster under faults: two clients in JVMs and on hosts of their own take and hold permits, while a node is killed,
 * stopped or cut off, in one or both directions, from its peers, from clients or from all. No two may hold one slot for longer than the
 * backend declares.
 *
 * <p>A subclass supplies {@link #start}. Without root or the command {@code ip} all tests are aborted, with that reason.
 * System properties: {@code tck.mode} ({@code quick}, the default, has two kinds of faults strike once each; {@code full} has each
 * strike for three minutes), {@code tck.history} (for how long instead), {@code tck.shapes} (which, a regular expression), {@code
 * tck.seed}, {@code tck.reports}. The figures are written to {@code clusters.json} in the folder of the subclass there.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class ClusterTck {
    private static final Set<ClusterFault> QUICK =
            Set.of(ClusterFault.LEADER_KILLED, ClusterFault.PARTITION_WITH_A_CLIENT);
    private static final Duration FULL = Duration.ofMinutes(3);
    private static final int CLIENTS = 2;

    private final Path reports =
            Path.of(System.getProperty("tck.reports", "target/tck"), getClass().getSimpleName());
    private final long seed = Long.getLong("tck.seed", System.nanoTime() & 0xffffffL);
    private final List<Host> clients = new ArrayList<>();
    private final List<AgentPool> pools = new ArrayList<>();
    private final List<ClusterFigures> figures = new ArrayList<>();
    private Network network;
    private Cluster cluster;
    private Guarantees guarantees;
    private String form = "";

    /** For subclasses. */
    protected ClusterTck() {}

    /**
     * Starts a cluster, each node on a host that it adds to the network.
     *
     * @param network where; the kit closes it
     * @return the cluster; its nodes may still be starting. The kit closes it
     * @throws Exception if it cannot be started
     */
    protected abstract Cluster start(Network network) throws Exception;

    @BeforeAll
    @Timeout(value = 10, unit = TimeUnit.MINUTES)
    final void startAll() throws Exception {
        Optional<String> absent = Network.absent();
        assumeTrue(absent.isEmpty(), () -> absent.orElse(""));
        network = new Network();
        cluster = start(network);
        for (int i = 0; i < CLIENTS; i++) {
            Host host = network.add("client" + i);
            clients.add(host);
            pools.add(
                    new AgentPool(AgentLauncher.sameClassPath(cluster.uri(host)).after(host.command(List.of()))));
        }
        try (SemaphoreClient client =
                SemaphoreClient.builder(cluster.uri(clients.get(0))).connect()) {
            guarantees = client.guarantees();
        }
        ClusterWaits.await("the cluster has started", () -> cluster.missing().isEmpty());
        form = cluster.form();
    }

    @AfterAll
    final void endAll() {
        if (network == null) {
            return;
        }
        pools.forEach(AgentPool::close);
        if (cluster != null) {
            cluster.nodes().forEach(Node::kill);
            cluster.close();
        }
        network.close();
    }

    private void report() throws IOException {
        Map<String, Object> report = new LinkedHashMap<>();
        report.put("form", form);
        report.put("backend", guarantees.backend());
        report.put("seed", seed);
        report.put("histories", figures);
        Files.createDirectories(reports);
        Files.writeString(
                reports.resolve("clusters.json"),
                new GsonBuilder().setPrettyPrinting().create().toJson(report) + "\n");
    }

    @ParameterizedTest
    @EnumSource(ClusterFault.class)
    @Timeout(value = 1, unit = TimeUnit.DAYS) // as long as the mode says
    final void noTwoHoldOneSlotForLongerThanDeclared(ClusterFault fault) throws IOException {
        boolean quick = System.getProperty("tck.mode", "quick").equals("quick");
        String shapes = System.getProperty("tck.shapes", "");
        boolean wanted = shapes.isEmpty()
                ? !quick || QUICK.contains(fault)
                : fault.name().matches(shapes);
        assumeTrue(wanted, () -> fault + " is not among the faults of this run: a quick one has " + QUICK);
        assumeTrue(
                fault != ClusterFault.LEADER_LOST || cluster.mayStartEmpty(),
                "a node that lost its data does not come back without an operator");
        String length = System.getProperty("tck.history", "");
        Duration striking = quick ? Duration.ZERO : FULL;
        ClusterHistory history = new ClusterHistory(
                network,
                cluster,
                clients,
                pools,
                guarantees,
                fault,
                seed + fault.name().hashCode(),
                reports,
                form);
        try {
            history.run(length.isEmpty() ? striking : Durations.parse(length), quick);
        } finally {
            history.figures().ifPresent(figures::add);
            report();
        }
    }
}
