package io.github.distributedsemaphore.tck.cluster;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.agent.AgentPermits;
import io.github.distributedsemaphore.tck.agent.AgentPool;
import io.github.distributedsemaphore.tck.cluster.ClusterFigures.Strike;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.history.HeldSlot;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.history.Violation;
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
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Records what clients on hosts of their own do while one kind of fault strikes a cluster again and again, and judges it. */
final class ClusterHistory {
    private static final int LIMIT = 6;
    private static final int BRIEF = 4;
    private static final int LASTING = 2;
    private static final Duration CALM = Duration.ofSeconds(3);
    private static final int LEAST_GRANTS_A_SECOND = 10;
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final Duration LOOK = Duration.ofMillis(50);
    private static final int SHORTEST_FAULT_MILLIS = 200;
    private static final int GAP_MILLIS = 2_000;

    private final Network network;
    private final Cluster cluster;
    private final List<Host> hosts;
    private final List<AgentPool> pools;
    private final Guarantees guarantees;
    private final ClusterFault fault;
    private final Random random;
    private final Path reports;
    private final String form;
    private final String name = "cluster-" + UUID.randomUUID();
    private final HistoryRecorder killed;
    private final List<Strike> strikes = new ArrayList<>();
    private int victims;
    private int repairs;
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
        this.hosts = hosts;
        this.pools = pools;
        this.guarantees = guarantees;
        this.fault = fault;
        this.random = new Random(seed);
        this.reports = reports;
        this.killed = new HistoryRecorder("victim", guarantees.has(Capability.FENCING));
    }

    /**
     * Records and judges.
     *
     * @param length for how long faults strike; at least one does
     * @param quick whether to be content with little traffic
     * @throws AssertionError if there are violations, or if the history proves nothing
     */
    void run(Duration length, boolean quick) {
        awaitWhole();
        List<Agent> agents = new ArrayList<>();
        try {
            pools.forEach(pool -> agents.add(pool.take(ClientSpec.plain())));
            // The fault before may have left a fail-over that the cluster's wholeness does not show.
            boolean unused = retry(() -> {
                agents.get(0).create(name, LIMIT);
                return true;
            });
            long begun = System.nanoTime();
            for (int i = 0; i < agents.size(); i++) {
                agents.get(i).endure(name, "c" + i + "-", BRIEF, LASTING, random.nextLong());
            }
            pause(CALM.toMillis());
            long calm = System.nanoTime();
            do {
                strike(agents);
                pause(1 + random.nextInt(GAP_MILLIS));
            } while (System.nanoTime() - calm < length.toNanos());
            pause(CALM.toMillis());
            History history = killed.history(LIMIT);
            for (Agent agent : agents) {
                history = history.with(agent.endEnduring());
            }
            Duration recorded = Duration.ofNanos(System.nanoTime() - begun);
            boolean free = becomesFree(agents.get(0)) || becomesFreeByRepair(agents.get(0));
            judge(history, recorded);
            requireMeaning(history, quick ? 1 : LEAST_GRANTS_A_SECOND);
            if (!free) {
                throw new AssertionError("permits stay taken after " + fault + ": " + cluster.stored(name));
            }
        } finally {
            agents.forEach(Agent::close);
            network.heal();
            cluster.nodes().stream().filter(node -> !node.isRunning()).forEach(Node::restart);
        }
    }

    private boolean becomesFree(Agent agent) {
        try {
            await("all " + LIMIT + " permits are free after the faults", () -> areAllFree(agent));
            return true;
        } catch (RuntimeException e) {
            return false;
        }
    }

    /** What the cluster does not free by itself an operator may, and the figures tell it. */
    private boolean becomesFreeByRepair(Agent agent) {
        System.out.println(form + ", " + fault + ": permits stay taken until the cluster is repaired; it has stored "
                + cluster.stored(name));
        repairs++;
        cluster.repair();
        return becomesFree(agent);
    }

    private boolean areAllFree(Agent agent) {
        if (fault.resizes()) {
            // A late fail-over may have forgotten the last change.
            agent.resize(name, LIMIT);
        }
        return agent.availablePermits(name) == LIMIT;
    }

    private void judge(History history, Duration length) {
        Duration overlap = HistoryChecks.longestOverlap(history);
        boolean exposed = fault.faults().stream()
                .map(guarantees::exposure)
                .anyMatch(exposure -> exposure.allowsOverlap() && exposure.covers(overlap));
        List<Violation> violations =
                ClusterChecks.violations(history, guarantees.has(Capability.FENCING), exposed, strikes);
        figures = ClusterFigures.of(fault, strikes, repairs, history, length, violations.size());
        System.out.println(form + ", " + figures.line(violations));
        if (!violations.isEmpty()) {
            throw new AssertionError(form + " under " + fault + ": " + violations.get(0) + " (and "
                    + (violations.size() - 1) + " more, longest overlap " + overlap + "; " + keep(history) + ")");
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
            List<String> lines = strikes.stream().map(Strike::toString).toList();
            Files.write(reports.resolve(fault + ".strikes"), lines);
            return "the history is in " + file;
        } catch (IOException e) {
            throw new UncheckedIOException("the history cannot be written to " + file, e);
        }
    }

    private void strike(List<Agent> agents) {
        if (!fault.resizes()) {
            strike();
            return;
        }
        Agent admin = agents.get(random.nextInt(agents.size()));
        Resizing resizing = new Resizing(admin, name, LIMIT, killed, random.nextLong());
        try {
            strike();
        } finally {
            resizing.end();
        }
    }

    private void strike() {
        Node leader = leader();
        List<Node> followers =
                cluster.nodes().stream().filter(node -> node != leader).toList();
        Node follower = followers.get(random.nextInt(followers.size()));
        long begun = System.nanoTime();
        boolean lasts = strikes.isEmpty() || random.nextBoolean() || fault == ClusterFault.LEADER_LOST;
        int bound = (int) cluster.failOver().toMillis();
        int millis = lasts ? bound + random.nextInt(bound) : SHORTEST_FAULT_MILLIS + random.nextInt(bound / 2);
        boolean newLeader = false;
        switch (fault) {
            case LEADER_KILLED, LEADER_KILLED_WHILE_RESIZED -> newLeader = whileDown(List.of(leader), millis, leader);
            case FOLLOWER_KILLED -> newLeader = whileDown(List.of(follower), millis, leader);
            case ALL_KILLED -> newLeader = whileDown(cluster.nodes(), SHORTEST_FAULT_MILLIS, leader);
            case ROLLING_RESTART -> {
                for (Node node : cluster.nodes()) {
                    newLeader |= whileDown(List.of(node), SHORTEST_FAULT_MILLIS, leader);
                    awaitWhole();
                }
            }
            case LEADER_LOST -> newLeader = whileLost(leader, millis);
            case LEADER_AND_HOLDER_KILLED -> {
                killAHolder();
                newLeader = whileDown(List.of(leader), millis, leader);
            }
            case LEADER_SUSPENDED -> newLeader = whileSuspended(leader, millis, leader);
            case FOLLOWER_SUSPENDED -> newLeader = whileSuspended(follower, millis, leader);
            default -> {
                disturb(leader, follower, followers);
                newLeader = ledByAnother(millis, leader);
                network.heal();
            }
        }
        long healed = System.nanoTime();
        awaitWhole();
        strikes.add(new Strike(begun, healed, System.nanoTime(), newLeader || leader() != leader));
    }

    private void awaitWhole() {
        long begun = System.nanoTime();
        boolean[] repaired = new boolean[1];
        await("the cluster is whole after " + fault, () -> {
            boolean late = System.nanoTime() - begun > cluster.failOver().toNanos() * 4;
            boolean whole = isWhole();
            if (!whole && late && !repaired[0]) {
                repaired[0] = true;
                repairs++;
                cluster.repair();
            }
            return whole;
        });
    }

    private boolean isWhole() {
        try {
            return cluster.isWhole();
        } catch (RuntimeException e) {
            return false;
        }
    }

    private void disturb(Node leader, Node follower, List<Node> followers) {
        List<Host> leading = List.of(leader.host());
        List<Host> peers = followers.stream().map(Node::host).toList();
        switch (fault) {
            case LEADER_CUT_FROM_PEERS -> network.separate(leading, peers);
            case LEADER_CUT_FROM_CLIENTS -> network.separate(leading, hosts);
            case LEADER_DEAF -> network.lose(peers, leading);
            case LEADER_MUTE -> network.lose(leading, peers);
            case LEADER_ALONE -> network.separate(leading, allBut(leading));
            case FOLLOWER_ALONE -> network.separate(List.of(follower.host()), allBut(List.of(follower.host())));
            case PARTITION_WITH_A_CLIENT, PARTITION_WHILE_RESIZED -> {
                List<Host> side = List.of(leader.host(), hosts.get(random.nextInt(hosts.size())));
                network.separate(side, allBut(side));
            }
            case CLIENT_ALONE -> {
                List<Host> alone = List.of(hosts.get(random.nextInt(hosts.size())));
                network.separate(alone, allBut(alone));
            }
            case LEADER_SLOW -> network.slow(leader.host());
            default -> throw new IllegalStateException(fault + " is nothing that happens to the network");
        }
    }

    private List<Host> allBut(List<Host> some) {
        List<Host> all = new ArrayList<>(hosts);
        cluster.nodes().forEach(node -> all.add(node.host()));
        all.removeAll(some);
        return all;
    }

    private boolean whileDown(List<Node> nodes, int millis, Node leader) {
        nodes.forEach(Node::kill);
        boolean newLeader = ledByAnother(millis, leader);
        nodes.forEach(Node::start);
        return newLeader;
    }

    /** A node that starts empty before another one leads would be followed by all, and everything would be gone. */
    private boolean whileLost(Node leader, int millis) {
        leader.kill();
        await("another node leads than " + leader, () -> cluster.leaderOf(name) != leader);
        pause(millis / 2);
        leader.wipe();
        leader.start();
        return true;
    }

    private boolean whileSuspended(Node node, int millis, Node leader) {
        node.suspend();
        try {
            return ledByAnother(millis, leader);
        } finally {
            node.resume();
        }
    }

    /** A client that holds a permit dies just before the leader, whose last grant this may be. */
    private void killAHolder() {
        int host = random.nextInt(pools.size());
        Agent victim = pools.get(host).take(ClientSpec.plain());
        String process = "victim" + victims++;
        try {
            Optional<AgentPermits> held = victim.acquire(name, 1, Duration.ofSeconds(5));
            held.ifPresent(permits -> record(
                    process,
                    Operation.Kind.ACQUIRE,
                    permits.invoked(),
                    permits.returned(),
                    List.of(killed.held(
                            permits.slots().get(0),
                            permits.fences().isEmpty()
                                    ? HeldSlot.NO_EPOCH
                                    : permits.fences().get(0).epoch())),
                    permits.validUntil()));
            long before = System.nanoTime();
            victim.kill9();
            record(process, Operation.Kind.DEATH, before, System.nanoTime(), List.of(), Operation.NEVER);
        } finally {
            victim.close();
        }
    }

    private void record(
            String process, Operation.Kind kind, long invoked, long returned, List<HeldSlot> slots, long sureUntil) {
        killed.add(new Operation(
                process, kind, invoked, returned, Operation.Outcome.OK, Math.max(1, slots.size()), slots, sureUntil));
    }

    /** Waits, and tells whether another node than this one leads at the end. */
    private boolean ledByAnother(int millis, Node leader) {
        pause(millis);
        try {
            return fault.strikesTheLeader() && cluster.leaderOf(name) != leader;
        } catch (RuntimeException e) {
            return false;
        }
    }

    private Node leader() {
        return retry(() -> cluster.leaderOf(name));
    }

    static void await(String what, BooleanSupplier condition) {
        boolean unused = retry(() -> {
            if (!condition.getAsBoolean()) {
                throw new IllegalStateException(what + ": not within " + PATIENCE);
            }
            return true;
        });
    }

    private static <T> T retry(Supplier<T> call) {
        long begun = System.nanoTime();
        while (true) {
            try {
                return call.get();
            } catch (RuntimeException e) {
                if (System.nanoTime() - begun > PATIENCE.toNanos()) {
                    throw e;
                }
                pause(LOOK.toMillis());
            }
        }
    }

    private static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
