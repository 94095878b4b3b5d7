package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/** Servers of the kit's own: one that is stopped, killed and loses its data, and replicas of it. */
final class RedisControl implements ServerControl {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final String settings;
    private final Supplier<? extends KitServer> launch;
    private KitServer server;

    RedisControl(String settings, Supplier<? extends KitServer> launch) {
        this.settings = settings;
        this.launch = launch;
        this.server = launch.get();
    }

    @Override
    public synchronized InetSocketAddress address() {
        return access().address();
    }

    private synchronized UriAccess access() {
        return new UriAccess(server.uri() + settings);
    }

    @Override
    public SemaphoreClient connect(ClientSpec spec, InetSocketAddress through) {
        return access().connect(spec, through);
    }

    @Override
    public synchronized List<Long> processes() {
        return server.processes();
    }

    @Override
    public synchronized boolean isRunning() {
        return server.isRunning();
    }

    @Override
    public synchronized void start() {
        server.restart();
    }

    @Override
    public synchronized void stop() {
        server.stop();
    }

    @Override
    public synchronized void kill() {
        server.kill();
    }

    @Override
    public synchronized void wipe() {
        server.wipe();
    }

    @Override
    public String incarnation() {
        return ask(commands -> commands.info("server")
                .lines()
                .filter(line -> line.startsWith("run_id:"))
                .findFirst()
                .orElseThrow());
    }

    @Override
    public List<String> errors() {
        return List.of("OOM", "READONLY");
    }

    @Override
    public void beginErrors(String kind) {
        tell(commands -> {
            switch (kind) {
                case "OOM" -> commands.configSet("maxmemory", "1");
                case "READONLY" -> commands.replicaof("127.0.0.1", 1);
                default -> throw new IllegalArgumentException(kind);
            }
        });
    }

    @Override
    public void endErrors(String kind) {
        tell(commands -> {
            if (kind.equals("OOM")) {
                commands.configSet("maxmemory", "0");
            } else {
                commands.replicaofNoOne();
            }
        });
    }

    @Override
    public Optional<Replica> replica() {
        HostAndPort primary = server.forReplicas();
        KitServer follower = launch.get();
        // Not on its command line: promoted and restarted it would follow again.
        ask(follower, commands -> commands.replicaof(primary.host(), primary.port()));
        return Optional.of(new Follower(follower));
    }

    private void tell(Consumer<RedisCommands<String, String>> words) {
        ask(commands -> {
            words.accept(commands);
            return true;
        });
    }

    private <T> T ask(Function<RedisCommands<String, String>, T> question) {
        return ask(server, question);
    }

    private static <T> T ask(KitServer of, Function<RedisCommands<String, String>, T> question) {
        RedisClient client = RedisClient.create(of.uri());
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            return question.apply(connection.sync());
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }

    @Override
    public synchronized void close() {
        server.close();
    }

    private synchronized void follow(KitServer promoted) {
        server.close();
        server = promoted;
    }

    /** A replica; detached it is a server of its own with what it had by then. */
    private final class Follower implements Replica {
        private final KitServer follower;
        private boolean detached;
        private boolean promoted;

        Follower(KitServer follower) {
            this.follower = follower;
        }

        @Override
        public void awaitCaughtUp() {
            long start = System.nanoTime();
            while (!isCaughtUp()) {
                if (System.nanoTime() - start > PATIENCE.toNanos()) {
                    throw new IllegalStateException("the replica does not catch up");
                }
                Thread.onSpinWait();
            }
        }

        private boolean isCaughtUp() {
            String master = ask(commands -> entry(commands, "master_repl_offset:"));
            return ask(
                    follower,
                    commands -> entry(commands, "master_link_status:").equals("up")
                            && entry(commands, "slave_repl_offset:").equals(master));
        }

        private static String entry(RedisCommands<String, String> commands, String name) {
            return commands.info("replication")
                    .lines()
                    .filter(line -> line.startsWith(name))
                    .map(line -> line.substring(name.length()).strip())
                    .findFirst()
                    .orElse("");
        }

        @Override
        public void detach() {
            ask(follower, RedisCommands::replicaofNoOne);
            detached = true;
        }

        @Override
        public void promote() {
            RedisControl.this.kill();
            if (!detached) {
                ask(follower, RedisCommands::replicaofNoOne);
            }
            promoted = true;
            follow(follower);
        }

        @Override
        public void close() {
            if (!promoted) {
                follower.close();
            }
        }
    }
}
