package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.redis.net.ServerSettings.Credentials;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import io.lettuce.core.cluster.SlotHash;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of a cluster, by the hash slots that they have. What a node answers with MOVED is believed for that slot; the whole
 * picture is asked for at the start, and when a node that should have a slot cannot be reached.
 */
public final class ClusterServers implements Servers {
    /** So many nodes are asked for the picture at a time. */
    private static final int ASKED = 5;

    /** Redis writes an IPv6 address without brackets, so the port follows the last colon. */
    private static final Pattern MOVED = Pattern.compile("MOVED (\\d{1,5}) \\[?([^\\[\\]]*)]?:(\\d{1,5})");

    private final RedisConnector connector;
    private final List<HostAndPort> seeds;
    private final Credentials credentials;

    /** Replaced as a whole, because looks overlap. */
    private volatile Map<Integer, HostAndPort> owners = new ConcurrentHashMap<>();

    /** Nodes that said that the cluster is down: they may be cut off from the others, and their picture may be an old one. */
    private final Set<HostAndPort> doubted = ConcurrentHashMap.newKeySet();

    ClusterServers(RedisConnector connector, List<HostAndPort> seeds, Credentials credentials) {
        this.connector = connector;
        this.seeds = seeds;
        this.credentials = credentials;
    }

    @Override
    public CompletableFuture<HostAndPort> serverOf(String key) {
        int slot = slotOf(key);
        HostAndPort known = owners.get(slot);
        if (known != null) {
            return CompletableFuture.completedFuture(known);
        }
        return look(slot).thenApply(found -> {
            // Before others see the picture: they forget nodes in it.
            HostAndPort owner = Objects.requireNonNull(found.get(slot));
            owners = found;
            doubted.remove(owner);
            return owner;
        });
    }

    /** Of the bytes that are sent: of a text, Lettuce takes those in the charset of the JVM. */
    static int slotOf(String key) {
        return SlotHash.getSlot(key.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void forget(HostAndPort server) {
        owners.values().removeIf(server::equals);
    }

    private CompletableFuture<Map<Integer, HostAndPort>> look(int slot) {
        Set<HostAndPort> candidates = new HashSet<>(owners.values());
        candidates.addAll(seeds);
        List<HostAndPort> asked = new ArrayList<>(candidates);
        Collections.shuffle(asked);
        List<HostAndPort> some = List.copyOf(asked.subList(0, Math.min(ASKED, asked.size())));
        return Servers.firstAnswer(
                some,
                node -> ask(node, slot),
                (node, found) -> !doubted.contains(node) && !doubted.contains(found.get(slot)));
    }

    private CompletableFuture<Map<Integer, HostAndPort>> ask(HostAndPort node, int slot) {
        CommandBatch question = new CommandBatch();
        int slots = question.add(RedisVerb.CLUSTER, "SLOTS");
        return connector.askOnce(node, credentials, question).thenApply(replies -> {
            String error = replies.all().get(slots).error();
            if (error != null && error.contains("cluster support disabled")) {
                throw new IncompatibleStateException(
                        "Redis at " + node + " is no node of a cluster: write redis: instead of redis-cluster:", null);
            }
            Map<Integer, HostAndPort> found = read(replies.get(slots), node);
            if (!found.containsKey(slot)) {
                // A node that was reset knows no slots. The others may know more.
                throw new BackendUnavailableException(
                        "Redis at " + node + " knows no node of the cluster with the hash slot " + slot, null);
            }
            return found;
        });
    }

    /** Each entry is the first and the last slot of a range and the nodes that have it, the master first: its address, port and more. */
    private static Map<Integer, HostAndPort> read(Reply reply, HostAndPort asked) {
        Map<Integer, HostAndPort> owners = new ConcurrentHashMap<>();
        for (Reply entry : reply.list()) {
            List<Reply> range = entry.list();
            List<Reply> master = range.get(2).list();
            String host = master.get(0).textOrNull();
            HostAndPort owner = address(host, (int) master.get(1).number(), asked);
            for (int slot = (int) range.get(0).number(); slot <= range.get(1).number(); slot++) {
                owners.put(slot, owner);
            }
        }
        return owners;
    }

    /** A node that does not know its own address leaves it out: then it is the one that it was asked at. */
    private static HostAndPort address(@Nullable String host, int port, HostAndPort asked) {
        return new HostAndPort(host == null || host.isEmpty() || host.equals("?") ? asked.host() : host, port);
    }

    @Override
    public boolean isElsewhere(String error, HostAndPort from) {
        if (error.startsWith("MOVED ")) {
            moved(error, from);
            return true;
        }
        // A slot that is on its way: its keys are at two nodes until it has arrived.
        return error.startsWith("ASK ") || error.startsWith("TRYAGAIN");
    }

    /** A node that was cut off, and those that were cut off with it, go on calling it the owner of its slots. */
    @Override
    public void doubt(String error, HostAndPort from, Runnable left) {
        if (error.startsWith("CLUSTERDOWN")) {
            doubted.add(from);
            forget(from);
            left.run();
        }
    }

    private void moved(String error, HostAndPort from) {
        Matcher owner = MOVED.matcher(error);
        if (owner.matches()) {
            owners.put(
                    Integer.valueOf(owner.group(1)), address(owner.group(2), Integer.parseInt(owner.group(3)), from));
        } else {
            forget(from);
        }
    }
}
