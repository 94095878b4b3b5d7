package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The first commands on a connection: credentials, database, and questions about the server. A server on which nothing of this
 * can hold is refused, on each connection, because another server may answer at the same address by then.
 *
 * <p>An empty transaction is among the commands. Without the right to MULTI, what follows MULTI in the same write is done
 * without a transaction.
 */
public final class Greeting {
    private static final int[] OLDEST = {6, 2};
    private static final int NOT_ASKED = -1;

    /** The server does not say how it calls the connection. */
    static final long NO_CONNECTION = -1;

    private final RedisAddress.Kind kind;
    private final CommandBatch batch = new CommandBatch();
    private final int identity;
    private final int server;
    private final int memory;
    private final int persistence;
    private final int replication;
    private final int own;
    private volatile Server found = new Server("", "", NO_CONNECTION, false, List.of());

    /**
     * What a server says of itself.
     *
     * @param runId names this life of the server; empty if it does not say
     * @param history names what its data has gone through: another one when the server has started, and when it has become a master, for
     *     then its data may be older; also when its first replica has come or its last one is long gone, which means nothing; empty if it
     *     does not say
     * @param connection the number of the connection, which it never gives again; {@link #NO_CONNECTION} if it does not say
     * @param durable whether it writes every change to a file
     * @param notes what a user should know, a sentence each
     */
    public record Server(String runId, String history, long connection, boolean durable, List<String> notes) {
        /** What holds of both servers. */
        public Server and(Server other) {
            Set<String> all = new LinkedHashSet<>(notes);
            all.addAll(other.notes);
            return new Server("", "", NO_CONNECTION, durable && other.durable, List.copyOf(all));
        }
    }

    /**
     * Makes the commands. A server that sentinels named has to be the master, which it says itself.
     *
     * @param demanding whether more is asked than that
     */
    Greeting(ServerSettings settings, boolean demanding) {
        kind = settings.address().kind();
        settings.addIdentity(batch);
        if (demanding) {
            batch.multi().exec();
        }
        identity = batch.size();
        server = demanding ? batch.add(RedisVerb.INFO, "server") : NOT_ASKED;
        memory = demanding ? batch.add(RedisVerb.INFO, "memory") : NOT_ASKED;
        persistence = demanding ? batch.add(RedisVerb.INFO, "persistence") : NOT_ASKED;
        boolean hasToLead = kind == RedisAddress.Kind.SENTINEL;
        replication = demanding || hasToLead ? batch.add(RedisVerb.INFO, "replication") : NOT_ASKED;
        own = demanding ? batch.add(RedisVerb.CLIENT, "ID") : NOT_ASKED;
    }

    CommandBatch batch() {
        return batch;
    }

    /** What was found; to be asked for after {@link #read}. */
    public Server found() {
        return found;
    }

    /** Reads the replies, and refuses a server on which nothing of this can hold. */
    void read(Replies replies, HostAndPort endpoint) {
        ServerInfo itself = info(replies, server);
        // First: a server of another kind refuses the other commands for reasons that lead astray.
        requireMode(itself.get("redis_mode"), endpoint);
        for (int i = 0; i < identity; i++) {
            replies.get(i);
        }
        ServerInfo replicated = info(replies, replication);
        if (kind == RedisAddress.Kind.SENTINEL && replicated.get("role").equals("slave")) {
            throw new BackendUnavailableException("Redis at " + endpoint + " is a replica now", null);
        } else if (server == NOT_ASKED) {
            return;
        }
        requireVersion(itself.get("redis_version"), endpoint);
        Reply number = replies.all().get(own);
        long connection = number.error() == null ? number.number() : NO_CONNECTION;
        List<String> notes = new ArrayList<>();
        String policy = info(replies, memory).get("maxmemory_policy");
        requirePolicy(policy, endpoint);
        if (policy.isEmpty()) {
            notes.add("This user may not ask for the eviction policy (INFO memory); it must not be one of allkeys-*, or"
                    + " holders can be forgotten.");
        }
        boolean durable = "1".equals(info(replies, persistence).get("aof_enabled"));
        if (!durable) {
            notes.add("The server does not log every change (appendonly no), or does not say: after a restart holders"
                    + " and semaphores of the last minutes, or all, are forgotten.");
        }
        String runId = itself.get("run_id");
        found = new Server(runId, history(runId, replicated), connection, durable, List.copyOf(notes));
    }

    /** A process keeps its run id when it follows another server and then leads again, with the data of that one. */
    private static String history(String runId, ServerInfo replicated) {
        // Redis renews it when a server becomes a master, and when it makes or frees its backlog: then epochs rise for
        // nothing.
        String replication = replicated.get("master_replid");
        return runId.isEmpty() || replication.isEmpty() ? runId : runId + ":" + replication;
    }

    /** A user may have no right to ask. */
    private static ServerInfo info(Replies replies, int index) {
        Reply reply = index == NOT_ASKED ? Reply.NIL : replies.all().get(index);
        return new ServerInfo(reply.isNil() || reply.error() != null ? "" : reply.text());
    }

    private void requireMode(String mode, HostAndPort endpoint) {
        if (mode.equals("sentinel")) {
            throw new IncompatibleStateException(
                    "Redis at " + endpoint + " is a sentinel: write redis-sentinel://host/?master=NAME", null);
        } else if (mode.equals("cluster") && kind != RedisAddress.Kind.CLUSTER) {
            throw new IncompatibleStateException(
                    "Redis at " + endpoint + " is a node of a cluster: write redis-cluster:", null);
        }
    }

    private static void requireVersion(String version, HostAndPort endpoint) {
        if (!version.isEmpty() && isOld(version)) {
            throw new IncompatibleStateException(
                    "Redis at " + endpoint + " is version " + version + ", at least 6.2 is needed (ZADD GT)", null);
        }
    }

    private static boolean isOld(String version) {
        String[] parts = version.split("\\.", -1);
        long major = Reply.digits(parts[0]);
        long minor = parts.length < 2 ? 0 : Reply.digits(parts[1]);
        return major < OLDEST[0] || (major == OLDEST[0] && minor < OLDEST[1]);
    }

    private static void requirePolicy(String policy, HostAndPort endpoint) {
        if (policy.startsWith("allkeys-")) {
            throw new IncompatibleStateException(
                    "Redis at " + endpoint + " may drop any key when memory is short (maxmemory-policy " + policy
                            + "), and with it who holds what: set the policy to noeviction or to one of volatile-*",
                    null);
        }
    }

    /** What a server says of itself, where the user may ask. */
    private static final class ServerInfo {
        private final Map<String, String> entries = new HashMap<>();

        ServerInfo(String text) {
            text.lines().forEach(line -> {
                int colon = line.indexOf(':');
                if (colon > 0 && line.charAt(0) != '#') {
                    entries.put(
                            line.substring(0, colon), line.substring(colon + 1).strip());
                }
            });
        }

        /** The value of an entry; empty if it is not there, or the user may not ask. */
        String get(String entry) {
            return entries.getOrDefault(entry, "");
        }
    }
}
