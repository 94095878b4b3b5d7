package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Processes that hold, wait and work, and are killed while they do. */
class CrashTest {
    private final Redis redis = new Redis();
    private final List<Process> children = new ArrayList<>();

    @AfterEach
    void close() {
        children.forEach(Process::destroyForcibly);
        redis.close();
    }

    /** Holds a permit until it is killed, or takes and releases without end. */
    static final class Child {
        private Child() {}

        public static void main(String[] args) throws InterruptedException {
            try (SemaphoreClient client = SemaphoreClient.connect(args[0])) {
                DistributedSemaphore semaphore = client.semaphore("jobs");
                if (args[1].equals("hold")) {
                    Permit permit = semaphore.acquire(Duration.ofSeconds(60));
                    System.out.println("slot " + permit.slot());
                    Thread.sleep(600_000);
                }
                System.out.println("working");
                while (true) {
                    semaphore.acquire(Duration.ofSeconds(60)).release();
                }
            }
        }
    }

    private Process child(String what) throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Child.class.getName(),
                        redis.uri("detection=1s"),
                        what)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        children.add(process);
        return process;
    }

    private static String firstLine(Process process) throws IOException {
        return new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
    }

    @Test
    void theSlotOfAKilledHolderIsTakenWithinTheDetectionBound() throws IOException {
        redis.backend().admin().create("jobs", 1);
        BackendSession heir = redis.session("jobs", "detection=1s");
        Process holder = child("hold");
        assertThat(firstLine(holder)).isEqualTo("slot 1");
        // It renews: after more than a lease it still holds.
        await().during(Duration.ofMillis(1_200))
                .until(() -> Redis.ask(heir, 1).answers().get(0).equals(Answer.FULL));
        holder.destroyForcibly();
        long killed = System.nanoTime();
        await().pollInterval(Duration.ofMillis(5)).until(() -> Redis.take(heir, 1) instanceof Answer.Granted);
        assertThat(Duration.ofNanos(System.nanoTime() - killed)).isLessThan(Duration.ofSeconds(1));
    }

    @Test
    void whateverKilledProcessesWereDoingAllSlotsComeBack() throws IOException {
        redis.backend().admin().create("jobs", 2);
        for (int round = 0; round < 3; round++) {
            Process first = child("work");
            Process second = child("work");
            assertThat(firstLine(first)).isEqualTo("working");
            assertThat(firstLine(second)).isEqualTo("working");
            first.destroyForcibly();
            second.destroyForcibly();
        }
        BackendSession heir = redis.session("jobs", "detection=1s");
        await().until(() -> Redis.take(heir, 2) instanceof Answer.Granted);
        heir.close();
        BackendSession next = redis.session("jobs");
        assertThat(takeHolds(next, 2)).hasSize(2);
        next.close();
        RedisLayout layout = redis.layout("jobs");
        await().untilAsserted(() -> {
            assertThat(redis.commands().zcard(layout.waiters())).isZero();
            assertThat(redis.held("jobs")).isZero();
        });
    }
}
