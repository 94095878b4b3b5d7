package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * What was found of a server at the start.
 *
 * @param isDurable whether it writes every change to a file
 * @param notes what a user should know, a sentence each
 */
record ServerCheck(boolean isDurable, List<String> notes) {
    private static final int[] OLDEST = {6, 2};

    /** Looks at a server and refuses one on which nothing of this can hold. */
    static ServerCheck of(RedisWire wire, RedisAddress.Kind kind, String endpoint, Deadline deadline) {
        List<String> notes = new ArrayList<>();
        ServerInfo server = ServerInfo.read(wire, "server", deadline);
        requireMode(server.get("redis_mode"), kind, endpoint);
        ServerInfo memory = ServerInfo.read(wire, "memory", deadline);
        ServerInfo persistence = ServerInfo.read(wire, "persistence", deadline);
        String version = server.get("redis_version");
        if (!version.isEmpty() && isOld(version)) {
            throw new IncompatibleStateException(
                    "Redis at " + endpoint + " is version " + version + ", at least 6.2 is needed (ZADD GT)", null);
        }
        String policy = memory.get("maxmemory_policy");
        if (policy.startsWith("allkeys-")) {
            throw new IncompatibleStateException(
                    "Redis at " + endpoint + " may drop any key when memory is short (maxmemory-policy " + policy
                            + "), and with it who holds what: set the policy to noeviction or to one of volatile-*",
                    null);
        } else if (policy.isEmpty()) {
            notes.add("This user may not ask for the eviction policy (INFO memory); it must not be one of allkeys-*, or"
                    + " holders can be forgotten.");
        }
        boolean durable = "1".equals(persistence.get("aof_enabled"));
        if (!durable) {
            notes.add("The server does not log every change (appendonly no), or does not say: after a restart holders"
                    + " and semaphores of the last minutes, or all, are forgotten.");
        }
        notes.add(
                "A replica that is promoted may lack the last grants: for at most a lease a slot may have two holders.");
        notes.add("Leases are by the server's clock: if that is set forwards, holders lose permits early by as much.");
        return new ServerCheck(durable, notes);
    }

    private static void requireMode(String mode, RedisAddress.Kind kind, String endpoint) {
        if (mode.equals("sentinel")) {
            throw new IncompatibleStateException(
                    "Redis at " + endpoint + " is a sentinel: write redis-sentinel://host/?master=NAME", null);
        } else if (mode.equals("cluster") && kind != RedisAddress.Kind.CLUSTER) {
            throw new IncompatibleStateException(
                    "Redis at " + endpoint + " is a node of a cluster: write redis-cluster:", null);
        }
    }

    /** What holds of both servers. */
    ServerCheck and(ServerCheck other) {
        Set<String> all = new LinkedHashSet<>(notes);
        all.addAll(other.notes);
        return new ServerCheck(isDurable && other.isDurable, List.copyOf(all));
    }

    private static boolean isOld(String version) {
        String[] parts = version.split("\\.", -1);
        long major = Numbers.parse(parts[0]);
        long minor = parts.length < 2 ? 0 : Numbers.parse(parts[1]);
        return major < OLDEST[0] || (major == OLDEST[0] && minor < OLDEST[1]);
    }
}
