package io.github.distributedsemaphore.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Deadline;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CommandBatchTest {
    private static final String KEY = "test-batches";

    private RedisClient client;
    private StatefulRedisConnection<String, String> connection;

    @BeforeEach
    void connect() {
        client = RedisClient.create(RedisServer.address());
        connection = client.connect();
        connection.sync().hset(KEY, "a", "1");
        connection.sync().hset(KEY, "b", "2");
        connection.sync().hset(KEY, "c", "3");
    }

    @AfterEach
    void close() {
        connection.sync().del(KEY);
        client.shutdown();
    }

    /** A process that was stopped for a while wakes so: Lettuce's thread has all still to do, and the time is over. */
    @Test
    void aBatchThatIsGivenUpBeforeItIsWrittenLeavesTheRepliesOfTheNextOneAlone() throws Exception {
        Semaphore go = blockThread();
        CommandBatch first = reading("a", "b");
        CommandBatch next = reading("b", "c");
        var unused = first.last();
        connection.dispatch(first.commands());
        var answered = next.last();
        connection.dispatch(next.commands());

        first.giveUp();
        go.release();
        answered.get(10, TimeUnit.SECONDS);

        assertThat(next.replies().all()).extracting(Reply::text).containsExactly("2", "3");
    }

    private static CommandBatch reading(String... fields) {
        CommandBatch batch = new CommandBatch();
        for (String field : fields) {
            batch.add(RedisVerb.HGET, KEY, field);
        }
        return batch;
    }

    /** Has the thread that writes and reads wait for the semaphore. */
    private Semaphore blockThread() throws InterruptedException {
        CountDownLatch waits = new CountDownLatch(1);
        Semaphore go = new Semaphore(0);
        AsyncCommand<String, String, String> ping =
                new AsyncCommand<>(new Command<>(CommandType.PING, new StatusOutput<>(StringCodec.UTF8)));
        var unused = ping.thenRun(() -> {
            waits.countDown();
            Awaiting.acquire(go, Deadline.after(System.nanoTime(), Duration.ofSeconds(30)));
        });
        connection.dispatch(ping);
        waits.await();
        return go;
    }
}
