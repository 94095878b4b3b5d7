package io.github.distributedsemaphore.redis.worklock;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.redis.RedisServer;
import io.github.distributedsemaphore.redis.net.ServerSettings;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** What a test has open: steered workers, each in a thread of this JVM, and a connection to look at the key. */
final class Workers implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final String address;
    private final String key = "job-" + UUID.randomUUID();
    private final RedisClient client;
    private final StatefulRedisConnection<String, String> connection;
    private final List<Thread> threads = new ArrayList<>();
    private final List<Runnable> resources = new ArrayList<>();

    Workers() {
        this(RedisServer.address());
    }

    Workers(String address) {
        this.address = address;
        this.client = RedisClient.create(address);
        this.connection = client.connect();
    }

    /** A worker and what it told that nobody has asked for yet. */
    record Hired(SteeredWorker worker, BlockingQueue<String> told, Thread thread) {
        Hired says(String... lines) {
            for (String line : lines) {
                assertThat(next()).isEqualTo(line);
            }
            return this;
        }

        String next() {
            try {
                String line = told.poll(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
                return line == null ? "nothing within " + PATIENCE : line;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return "interrupted";
            }
        }

        Hired hears(String word) {
            worker.say(word);
            return this;
        }
    }

    String address() {
        return address;
    }

    String key() {
        return key;
    }

    RedisCommands<String, String> commands() {
        return connection.sync();
    }

    String value() {
        return String.valueOf(commands().get(key));
    }

    /** How long the key has still to live. */
    Duration left() {
        return Duration.ofMillis(commands().pttl(key));
    }

    CommandGate gate(CommandGate.Guard guard) {
        CommandGate gate = new CommandGate(address, guard);
        resources.add(gate::close);
        return gate;
    }

    RedisWorkLock lock(String uri, WorkLockSettings settings, RedisWorkLock.Pacing pacing) {
        RedisWorkLock lock = new RedisWorkLock(servers(uri), settings, pacing);
        resources.add(0, lock::close);
        return lock;
    }

    static ServerSettings servers(String uri) {
        return ServerSettings.from(BackendUri.parse(uri), RedisWorkLock.TIMEOUT);
    }

    /** Begins to run a worker with at most three attempts. */
    Hired hire() {
        return hire(address, 3);
    }

    Hired hire(String uri, int maxAttempts) {
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        SteeredWorker worker = new SteeredWorker(servers(uri), key, maxAttempts, told::add);
        resources.add(0, worker::close);
        Thread thread = new Thread(worker, "worker");
        threads.add(thread);
        thread.start();
        return new Hired(worker, told, thread);
    }

    @Override
    public void close() {
        threads.forEach(Thread::interrupt);
        threads.forEach(Workers::join);
        resources.forEach(Runnable::run);
        commands().del(key);
        connection.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }

    private static void join(Thread thread) {
        try {
            thread.join(PATIENCE.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
