package io.github.distributedsemaphore.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.redis.worklock.RedisWorkLock;
import io.github.distributedsemaphore.redis.worklock.WorkAttempt;
import io.github.distributedsemaphore.redis.worklock.WorkOutcome;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A short look at the oldest server that is supported; {@code -Dtck.embedded=true} runs all tests on it. */
class EmbeddedRedisTest {
    private static RedisServer server;

    @BeforeAll
    static void start() {
        try {
            server = RedisServer.startEmbedded();
        } catch (RuntimeException | ExceptionInInitializerError e) {
            Assumptions.abort("the embedded Redis does not run on this platform: " + e);
        }
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @Test
    void aSlotPassesFromOneClientToAnother() throws Exception {
        try (Redis redis = new Redis(server.uri());
                SemaphoreClient holder = SemaphoreClient.connect(redis.uri());
                SemaphoreClient waiter = SemaphoreClient.connect(redis.uri())) {
            assertThat(redis.commands().info("server")).contains("redis_version:6.2.");
            holder.admin().create("jobs", 1);
            Permit held = holder.semaphore("jobs").acquire(Duration.ofSeconds(30));
            DistributedSemaphore other = waiter.semaphore("jobs");
            assertThat(other.tryAcquire()).isEmpty();
            CompletableFuture<Permit> waiting = other.acquireAsync(Duration.ofSeconds(30));
            held.release();
            Permit next = waiting.join();
            assertThat(next.slot()).isEqualTo(1);
            assertThat(next.fence().epoch()).isGreaterThan(held.fence().epoch());
            next.release();
        }
    }

    @Test
    void aJobIsDoneOnceAndTakenOverFromAWorkerThatFails() throws Exception {
        try (RedisWorkLock lock = RedisWorkLock.builder(server.uri())
                .lockTimeout(Duration.ofMillis(100))
                .build()) {
            assertThat(lock.run("job", attempt -> {})).isEqualTo(WorkOutcome.NOT_DONE);
            assertThat(lock.run("job", WorkAttempt::done)).isEqualTo(WorkOutcome.DONE);
            assertThat(lock.run("job", WorkAttempt::done)).isEqualTo(WorkOutcome.FINISHED_ELSEWHERE);
        }
    }
}
