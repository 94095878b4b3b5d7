package io.github.distributedsemaphore.benchmarks.contestants;

import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import io.lettuce.core.RedisClient;
import io.lettuce.core.TransactionResult;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;

/**
 * No semaphore: the commands of a pair of the Redis backend that meets nobody, sent by Lettuce's own means, in two writes. What this
 * library adds to its protocol is what it is slower than this. Each thread has a slot of its own, so nobody contends.
 */
final class StreamContestant implements Contestant {
    private static final long PATIENCE_SECONDS = 10;
    private static final String NOTE = "17:459618256966084594:1795384000000:";

    private final RedisClient client;
    private final List<Stream> streams = new ArrayList<>();

    StreamContestant(Variant variant, String uri) {
        client = RedisClient.create(uri);
        String tag = "{stream:" + variant.semaphore(0) + ":"
                + ProcessHandle.current().pid() + "}";
        StatefulRedisConnection<String, String> first = client.connect();
        first.sync()
                .sadd(
                        tag + ":f",
                        IntStream.rangeClosed(1, Math.max(variant.threads(), variant.limit()))
                                .mapToObj(Integer::toString)
                                .toArray(String[]::new));
        first.sync().hset(tag + ":c", Map.of("format", "2", "limit", "1000", "slots", "1000", "base", "1"));
        first.close();
        for (int thread = 0; thread < variant.threads(); thread++) {
            streams.add(new Stream(tag, thread));
        }
    }

    /** One connection with its watch, and the one slot that passes over it. */
    private final class Stream {
        private final StatefulRedisConnection<String, String> connection = client.connect();
        private final RedisAsyncCommands<String, String> commands = connection.async();
        private final String tag;
        private final String mine;
        private final String notes;
        private final String slot;

        Stream(String tag, int thread) {
            this.tag = tag;
            this.mine = tag + ":h:" + thread;
            this.notes = tag + ":d:" + thread;
            this.slot = Integer.toString(thread + 1);
            connection.sync().watch(tag + ":c");
            connection.setAutoFlushCommands(false);
        }

        void take() {
            Future<?> unusedBegun = commands.multi();
            Future<?> unusedMoved = commands.smove(tag + ":f", mine, slot);
            Future<?> unusedCounted = commands.hincrby(tag + ":e", slot, 17);
            Future<?> unusedNoted = commands.hset(notes, slot, NOTE);
            Future<TransactionResult> done = commands.exec();
            Future<?> unusedWatched = commands.watch(tag + ":c");
            Future<?> last = commands.hmget(tag + ":c", "format", "limit", "slots", "base", "server", "changes");
            connection.flushCommands();
            await(last);
            TransactionResult result = await(done);
            if (result.wasDiscarded() || !Boolean.TRUE.equals(result.get(0))) {
                throw new BrokenRunException("slot " + slot + " was not free");
            }
        }

        void giveBack() {
            Future<Boolean> moved = commands.smove(mine, tag + ":f", slot);
            Future<?> queue = commands.zrangeWithScores(tag + ":w", 0, 15);
            connection.flushCommands();
            await(queue);
            if (!await(moved)) {
                throw new BrokenRunException("slot " + slot + " was not held");
            }
        }
    }

    private static <T> T await(Future<T> future) {
        try {
            return future.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new BrokenRunException("interrupted", e);
        } catch (ExecutionException | TimeoutException e) {
            throw new BrokenRunException("a command of the stream failed", e);
        }
    }

    @Override
    public Pass acquire(int thread, int name) {
        Stream stream = streams.get(thread);
        stream.take();
        return Pass.withoutSlot(stream::giveBack);
    }

    @Override
    public void close() {
        client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
}
