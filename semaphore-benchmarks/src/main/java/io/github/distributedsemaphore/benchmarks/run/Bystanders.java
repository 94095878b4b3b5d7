package io.github.distributedsemaphore.benchmarks.run;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import io.github.distributedsemaphore.benchmarks.servers.RedisProcess;
import io.lettuce.core.api.sync.RedisCommands;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Those who are there and do nothing while others are measured: holders of slots, and idle clients with an armed watch. */
final class Bystanders implements AutoCloseable {
    private static final int AT_ONCE = 500;

    /** So far in the future, in milliseconds, that no idle client dies meanwhile. */
    private static final double FAR_DEADLINE = 9e12;

    private final MeasuredServer server;
    private final List<SemaphoreClient> holders = new ArrayList<>();
    private final List<SocketChannel> watchers = new ArrayList<>();

    Bystanders(MeasuredServer server) {
        this.server = server;
    }

    /** Takes their places, at semaphores that exist. */
    void join(Variant variant) {
        try {
            for (int name = 0; name < variant.names(); name++) {
                hold(variant.semaphore(name), variant.held());
                watch(variant.semaphore(name), variant.idleWatchers() / variant.names());
            }
        } catch (InterruptedException | IOException e) {
            throw new BrokenRunException(variant.name() + ": the bystanders could not take their places", e);
        }
    }

    private void hold(String semaphore, int permits) throws InterruptedException {
        if (permits == 0) {
            return;
        }
        SemaphoreClient client = SemaphoreClient.connect(server.uri());
        holders.add(client);
        DistributedSemaphore held = client.semaphore(semaphore);
        int atOnce = Math.min(AT_ONCE, client.guarantees().maxPermits());
        for (int left = permits; left > 0; left -= atOnce) {
            // Held until the client ends.
            PermitGroup unused = held.acquire(Math.min(left, atOnce));
        }
    }

    private void watch(String semaphore, int clients) throws IOException {
        if (clients == 0) {
            return;
        }
        if (!(server instanceof RedisProcess redis)) {
            throw new BrokenRunException("idle clients with an armed watch are known for Redis only");
        }
        RedisCommands<String, String> commands = redis.commands();
        String control = commands.keys("*" + semaphore + "}:c").stream()
                .findFirst()
                .orElseThrow(() -> new BrokenRunException("There is no key of '" + semaphore + "' to watch"));
        String lives = control.substring(0, control.length() - 1) + "l";
        ByteBuffer watch = ByteBuffer.wrap(("WATCH " + control + "\r\n").getBytes(StandardCharsets.US_ASCII));
        for (int i = 0; i < clients; i++) {
            SocketChannel channel =
                    SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), redis.port()));
            watchers.add(channel);
            channel.write(watch.rewind());
            if (channel.read(ByteBuffer.allocate(64)) < 1) {
                throw new IOException("the server refused the connection of idle client " + watchers.size());
            }
            commands.zadd(lives, FAR_DEADLINE, "idle-" + i);
        }
    }

    @Override
    public void close() {
        holders.forEach(SemaphoreClient::close);
        for (SocketChannel channel : watchers) {
            try {
                channel.close();
            } catch (IOException e) {
                throw new BrokenRunException("An idle connection could not be closed", e);
            }
        }
    }
}
