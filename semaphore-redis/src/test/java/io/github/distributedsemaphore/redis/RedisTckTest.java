package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.Accounts;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.ServerAccess;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/** The compatibility kit on real servers, one for each JVM, or on the one that is given. */
class RedisTckTest extends SemaphoreTck {
    @Override
    public SemaphoreTckHarness harness() {
        return new Harness(RedisServer.address(), "tck-" + UUID.randomUUID());
    }

    /** Most of the time is waiting for the end of leases. */
    @Override
    public int jvms() {
        return 3;
    }

    static class Harness extends UriHarness implements StateProbe {
        private final UriAccess link;
        private final String settings;
        private final String prefix;
        private final RedisClient client;
        private final StatefulRedisConnection<String, String> connection;
        private final RedisAccounts accounts;
        private volatile boolean foreignHash;
        private final Set<String> damaged = ConcurrentHashMap.newKeySet();

        Harness(String address, String prefix) {
            super(address + settings(prefix));
            this.settings = settings(prefix);
            this.link = new UriAccess(uri());
            this.prefix = prefix;
            this.client = RedisClient.create(address);
            this.connection = client.connect();
            this.accounts = new RedisAccounts(commands(), address, prefix);
        }

        /** {@code -Dkit.settings='&handOver=true'} runs the kit with other settings than the default ones. */
        private static String settings(String prefix) {
            return "?detection=2s" + System.getProperty("kit.settings", "") + "&prefix=" + prefix;
        }

        String settings() {
            return settings;
        }

        private RedisCommands<String, String> commands() {
            return connection.sync();
        }

        @Override
        public String backendVersion() {
            String entry = "redis_version:";
            return commands()
                    .info("server")
                    .lines()
                    .filter(line -> line.startsWith(entry))
                    .map(line -> "Redis " + line.substring(entry.length()).strip())
                    .findFirst()
                    .orElseThrow();
        }

        @Override
        public Optional<ServerAccess> link() {
            return Optional.of(link);
        }

        @Override
        public Optional<Accounts> accounts() {
            return Optional.of(accounts.accounts());
        }

        @Override
        public Optional<ServerControl> startServer() {
            return Optional.of(new RedisControl(settings, () -> RedisServer.start("--appendfsync", "always")));
        }

        @Override
        public Optional<StateProbe> state() {
            return Optional.of(this);
        }

        @Override
        public Leftovers leftovers() {
            Map<String, Long> sizes = new HashMap<>();
            for (String key : commands().keys("{" + prefix + "*")) {
                String type = commands().type(key);
                // What has gone since it was listed is no leftover.
                if (!type.equals("none")) {
                    sizes.put(key, size(key, type));
                }
            }
            return Leftovers.of(sizes);
        }

        /** How many members a key has; 0 for one that has gone meanwhile. */
        private long size(String key, String type) {
            return switch (type) {
                case "zset" -> commands().zcard(key);
                case "set" -> commands().scard(key);
                case "hash" -> commands().hlen(key);
                case "list" -> commands().llen(key);
                case "string" -> commands().strlen(key);
                default -> 0;
            };
        }

        @Override
        public boolean mayStay(Thread thread) {
            // Netty's, one for all its users, which ends a second after its last task.
            return thread.getName().startsWith("globalEventExecutor");
        }

        private RedisLayout of(String name) {
            return new RedisLayout(prefix, name);
        }

        @Override
        public List<String> faults(String name) {
            return damaged.contains(name)
                    ? List.of()
                    : StoredState.of(commands(), of(name)).faults();
        }

        @Override
        public void wipe(String name) {
            remove(name);
        }

        @Override
        public void removeHolder(String name, int slot) {
            // As docs/operations.md tells an operator to: together with a touch of the control key.
            String holder = commands().keys(of(name).heldBy("") + "*").stream()
                    .filter(key -> commands().sismember(key, Integer.toString(slot)))
                    .findFirst()
                    .orElseThrow();
            commands().multi();
            commands().smove(holder, of(name).free(), Integer.toString(slot));
            commands().hincrby(of(name).control(), RedisLayout.CHANGES_FIELD, 1);
            boolean removed = commands().exec().get(0);
            require(removed);
        }

        @Override
        public List<String> corruptions() {
            return List.of("no limit", "limit is no number", "limit is zero", "no base", "later format");
        }

        @Override
        public void corrupt(String name, String kind) {
            damaged.add(name);
            String control = of(name).control();
            switch (kind) {
                case "no limit" -> commands().hdel(control, RedisLayout.LIMIT_FIELD);
                case "limit is no number" -> commands().hset(control, RedisLayout.LIMIT_FIELD, "three");
                case "limit is zero" -> commands().hset(control, RedisLayout.LIMIT_FIELD, "0");
                case "no base" -> commands().hdel(control, RedisLayout.BASE_FIELD);
                default -> commands().hset(control, RedisLayout.FORMAT_FIELD, "3");
            }
        }

        @Override
        public void plantEpoch(String name, long epoch) {
            // The counts of the slots begin at 0, so the first epoch is the base plus one.
            require(commands().hlen(of(name).epochs()) == 0);
            require(!commands().hset(of(name).control(), RedisLayout.BASE_FIELD, Long.toString(epoch)));
        }

        /** The first as one that was given back; the others held by a client that has died. */
        @Override
        public void plantSlots(String name, int more) {
            int limit = Integer.parseInt(commands().hget(of(name).control(), RedisLayout.LIMIT_FIELD));
            String dead = "planted.1";
            commands().hset(of(name).control(), RedisLayout.SLOTS_FIELD, Integer.toString(limit + more));
            for (int slot = limit + 1; slot <= limit + more; slot++) {
                String field = Integer.toString(slot);
                require(commands().hset(of(name).epochs(), field, "1"));
                String place = slot == limit + 1 ? of(name).free() : of(name).heldBy(dead);
                require(commands().sadd(place, field) == 1);
            }
            commands().zadd(of(name).lives(), 1, dead);
        }

        @Override
        public void occupy(String name) {
            damaged.add(name);
            String key = of(name).control();
            if (foreignHash) {
                commands().hset(key, "something", "else");
            } else {
                commands().set(key, "something else");
            }
            foreignHash = !foreignHash;
        }

        @Override
        public String occupant(String name) {
            String key = of(name).control();
            return commands().type(key).equals("hash")
                    ? commands().hgetall(key).toString()
                    : String.valueOf(commands().get(key));
        }

        @Override
        public void remove(String name) {
            List<String> keys = keysOf(name);
            require(!keys.isEmpty());
            while (!keys.isEmpty()) {
                commands().del(keys.toArray(String[]::new));
                // A client that waits may have written one since they were listed.
                keys = keysOf(name);
            }
        }

        private List<String> keysOf(String name) {
            return commands().keys("{" + prefix + ":" + name + "}*");
        }

        private static void require(boolean effect) {
            if (!effect) {
                throw new IllegalStateException("the stored state is not what it has to be for this");
            }
        }

        @Override
        public void close() {
            accounts.remove();
            connection.close();
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }
}
