package io.github.distributedsemaphore.tck.cluster;

import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.agent.AgentPermits;
import io.github.distributedsemaphore.tck.agent.AgentPool;
import io.github.distributedsemaphore.tck.cluster.ClusterFigures.Strike;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.history.HeldSlot;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.run.Pause;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** What one kind of fault does to a cluster, again and again. Not thread-safe. */
final class ClusterStrikes {
    private static final int SHORTEST_FAULT_MILLIS = 200;

    private final Network network;
    private final Cluster cluster;
    private final List<Host> hosts;
    private final List<AgentPool> pools;
    private final ClusterFault fault;
    private final String name;
    private final int limit;
    private final Random random;
    /** Of the clients that the strikes make themselves. */
    private final HistoryRecorder recorder;

    private final List<Strike> all = new ArrayList<>();
    /** Who led when the cluster was whole after the last strike. */
    private @Nullable Node leftLeading;

    private int victims;
    private int repairs;

    /**
     * Strikes later.
     *
     * @param hosts of the clients
     * @param pools clients of each host
     * @param name the semaphore that they use
     * @param limit its limit
     * @param recorder takes what the strikes' own clients do
     */
    ClusterStrikes(
            Network network,
            Cluster cluster,
            List<Host> hosts,
            List<AgentPool> pools,
            ClusterFault fault,
            String name,
            int limit,
            Random random,
            HistoryRecorder recorder) {
        this.network = network;
        this.cluster = cluster;
        this.hosts = hosts;
        this.pools = pools;
        this.fault = fault;
        this.name = name;
        this.limit = limit;
        this.random = random;
        this.recorder = recorder;
    }

    List<Strike> all() {
        return all;
    }

    /** How often the cluster needed an operator. */
    int repairs() {
        return repairs;
    }

    /** Permits stay taken that nobody has: an operator is needed for them too. */
    void permitsNeedRepair() {
        repairs++;
    }

    /**
     * Strikes once, and waits until the cluster is whole again.
     *
     * @param agents clients, of which one changes the limit meanwhile if the fault says so
     * @throws IllegalStateException if the cluster is not whole in time; the message says what it lacks
     */
    void strike(List<Agent> agents) {
        if (!fault.resizes()) {
            strike();
            return;
        }
        Agent admin = agents.get(random.nextInt(agents.size()));
        Resizing resizing = new Resizing(admin, name, limit, recorder, random.nextLong());
        try {
            strike();
        } finally {
            resizing.end();
        }
    }

    /** Tells the last strike whether another node took over after it. */
    void end() {
        noteLateFailOver(leader());
    }

    /** A cluster may fail over when it seemed to be whole already. It is whole again when that is known. */
    private void noteLateFailOver(Node leader) {
        if (leftLeading != null && leftLeading != leader) {
            Strike last = all.remove(all.size() - 1);
            all.add(new Strike(last.begun(), last.healed(), System.nanoTime(), true));
        }
    }

    private void strike() {
        Node leader = leader();
        noteLateFailOver(leader);
        List<Node> followers =
                cluster.nodes().stream().filter(node -> node != leader).toList();
        Node follower = followers.get(random.nextInt(followers.size()));
        long begun = System.nanoTime();
        boolean lasts = all.isEmpty() || random.nextBoolean() || fault == ClusterFault.LEADER_LOST;
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
        leftLeading = leader();
        all.add(new Strike(begun, healed, System.nanoTime(), newLeader || leftLeading != leader));
    }

    /**
     * Waits until all nodes serve, and does in between what an operator does.
     *
     * @throws IllegalStateException if they do not in time; the message says what is missing
     */
    void awaitWhole() {
        long[] repaired = {System.nanoTime()};
        String[] missing = {""};
        try {
            ClusterWaits.await("the cluster is whole after " + fault, () -> {
                missing[0] = missing();
                if (!missing[0].isEmpty()
                        && System.nanoTime() - repaired[0] > cluster.failOver().toNanos() * 4) {
                    repaired[0] = System.nanoTime();
                    repair();
                }
                return missing[0].isEmpty();
            });
        } catch (IllegalStateException e) {
            throw new IllegalStateException(e.getMessage() + "; " + missing[0], e);
        }
    }

    private String missing() {
        try {
            return cluster.missing();
        } catch (RuntimeException e) {
            return e.toString();
        }
    }

    /** A server that has ended is started again, as the system of its host would; else the cluster has its own way. */
    private void repair() {
        repairs++;
        List<Node> ended =
                cluster.nodes().stream().filter(node -> !node.isRunning()).toList();
        if (ended.isEmpty()) {
            cluster.repair();
        }
        ended.forEach(Node::restart);
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
        ClusterWaits.await("another node leads than " + leader, () -> cluster.leaderOf(name) != leader);
        Pause.millis(millis / 2);
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
                    List.of(recorder.held(
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
        recorder.add(new Operation(
                process, kind, invoked, returned, Operation.Outcome.OK, Math.max(1, slots.size()), slots, sureUntil));
    }

    /** Waits, and tells whether another node than this one leads at the end. */
    private boolean ledByAnother(int millis, Node leader) {
        Pause.millis(millis);
        try {
            return fault.strikesTheLeader() && cluster.leaderOf(name) != leader;
        } catch (RuntimeException e) {
            return false;
        }
    }

    private Node leader() {
        return ClusterWaits.retry(() -> cluster.leaderOf(name));
    }
}
