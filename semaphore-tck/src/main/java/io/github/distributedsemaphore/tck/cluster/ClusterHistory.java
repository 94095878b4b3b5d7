package io.github.distributedsemaphore.tck.cluster;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.agent.AgentPool;
import io.github.distributedsemaphore.tck.cluster.ClusterFigures.Strike;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.Violation;
import io.github.distributedsemaphore.tck.run.Pause;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Records what clients on hosts of their own do while one kind of fault strikes a cluster again and again, and judges it. */
final class ClusterHistory {
    private static final int LIMIT = 6;
    private static final int BRIEF = 4;
    private static final int LASTING = 2;
    private static final Duration CALM = Duration.ofSeconds(3);
    private static final int LEAST_GRANTS_A_SECOND = 10;
    private static final int GAP_MILLIS = 2_000;

    private final Network network;
    private final Cluster cluster;
    private final List<AgentPool> pools;
    private final Guarantees guarantees;
    private final ClusterFault fault;
    private final Random random;
    private final Path reports;
    private final String form;
    private final String name = "cluster-" + UUID.randomUUID();
    private final HistoryRecorder killed;
    private final ClusterStrikes strikes;
    private @Nullable ClusterFigures figures;

    ClusterHistory(
            Network network,
            Cluster cluster,
            List<Host> hosts,
            List<AgentPool> pools,
            Guarantees guarantees,
            ClusterFault fault,
            long seed,
            Path reports,
            String form) {
        this.form = form;
        this.network = network;
        this.cluster = cluster;
        this.pools = pools;
        this.guarantees = guarantees;
        this.fault = fault;
        this.random = new Random(seed);
        this.reports = reports;
        this.killed = new HistoryRecorder("victim", guarantees.has(Capability.FENCING));
        this.strikes = new ClusterStrikes(network, cluster, hosts, pools, fault, name, LIMIT, random, killed);
    }

    /**
     * Records and judges.
     *
     * @param length for how long faults strike; at least one does
     * @param quick whether to be content with little traffic
     * @throws AssertionError if there are violations, or if the history proves nothing
     */
    void run(Duration length, boolean quick) {
        strikes.awaitWhole();
        List<Agent> agents = new ArrayList<>();
        try {
            pools.forEach(pool -> agents.add(pool.take(ClientSpec.plain())));
            // The fault before may have left a fail-over that the cluster's wholeness does not show.
            boolean unused = ClusterWaits.retry(() -> {
                agents.get(0).create(name, LIMIT);
                return true;
            });
            long begun = System.nanoTime();
            for (int i = 0; i < agents.size(); i++) {
                agents.get(i).endure(name, "c" + i + "-", BRIEF, LASTING, random.nextLong());
            }
            Pause.millis(CALM.toMillis());
            long calm = System.nanoTime();
            do {
                strikes.strike(agents);
                Pause.millis(1 + random.nextInt(GAP_MILLIS));
            } while (System.nanoTime() - calm < length.toNanos());
            Pause.millis(CALM.toMillis());
            strikes.end();
            History history = killed.history(LIMIT);
            for (Agent agent : agents) {
                history = history.with(agent.endEnduring());
            }
            Duration recorded = Duration.ofNanos(System.nanoTime() - begun);
            boolean free = becomesFree(agents.get(0));
            if (!free) {
                strikes.permitsNeedRepair();
            }
            judge(history, recorded);
            requireMeaning(history, quick ? 1 : LEAST_GRANTS_A_SECOND);
            if (!free) {
                freeByRepair(agents.get(0));
            }
        } finally {
            agents.forEach(Agent::close);
            network.heal();
            cluster.nodes().stream().filter(node -> !node.isRunning()).forEach(Node::restart);
        }
    }

    private boolean becomesFree(Agent agent) {
        try {
            ClusterWaits.await("all " + LIMIT + " permits are free after the faults", () -> areAllFree(agent));
            return true;
        } catch (RuntimeException e) {
            return false;
        }
    }

    /** What the cluster does not free by itself an operator may; the figures have counted it. */
    private void freeByRepair(Agent agent) {
        System.out.println(form + ", " + fault + ": permits stay taken until the cluster is repaired; it has stored "
                + cluster.stored(name));
        cluster.repair();
        if (!becomesFree(agent)) {
            throw new AssertionError("permits stay taken after " + fault + ": " + cluster.stored(name));
        }
    }

    private boolean areAllFree(Agent agent) {
        if (fault.resizes()) {
            // A late fail-over may have forgotten the last change.
            agent.resize(name, LIMIT);
        }
        return agent.availablePermits(name) == LIMIT;
    }

    private void judge(History history, Duration length) {
        List<Violation> violations =
                new ClusterChecks(guarantees, fault, cluster.hasOneLeader(), strikes.all()).violations(history);
        figures = ClusterFigures.of(fault, strikes.all(), strikes.repairs(), history, length, violations.size());
        System.out.println(form + ", " + figures.line(violations));
        if (!violations.isEmpty()) {
            throw new AssertionError(form + " under " + fault + ": " + violations.get(0) + " (and "
                    + (violations.size() - 1) + " more, longest overlap " + HistoryChecks.longestOverlap(history) + "; "
                    + keep(history)
                    + ")");
        }
    }

    /** What it came to, also if it broke a rule; empty if it did not come to its end. */
    Optional<ClusterFigures> figures() {
        return Optional.ofNullable(figures);
    }

    /** A history counts only if it could have failed: all permits were held at once, and there was traffic to disturb. */
    private void requireMeaning(History history, int leastGrantsASecond) {
        double rate = figures == null ? 0 : figures.grantsPerSecond();
        if (HistoryChecks.mostHeld(history) < LIMIT || rate < leastGrantsASecond) {
            throw new AssertionError("the history proves nothing: at most " + HistoryChecks.mostHeld(history) + " of "
                    + LIMIT + " permits were held at once, and " + rate + " were granted a second while the cluster"
                    + " served, where it must be " + leastGrantsASecond);
        }
    }

    private String keep(History history) {
        Path file = reports.resolve(fault + ".history");
        try {
            Files.createDirectories(reports);
            Files.write(file, history.lines());
            List<String> lines = strikes.all().stream().map(Strike::toString).toList();
            Files.write(reports.resolve(fault + ".strikes"), lines);
            return "the history is in " + file;
        } catch (IOException e) {
            throw new UncheckedIOException("the history cannot be written to " + file, e);
        }
    }
}
