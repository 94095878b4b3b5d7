package io.github.distributedsemaphore.spring.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.SemaphoreClient;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.api.io.TempDir;

/** Starts {@link ExportApplication} as a process beside a real Redis server, which it finds by Spring Boot's own properties. */
final class RealApplicationTest {
    private static final int SLOTS = 3;
    private static final int WAITERS = 50;
    private static final Duration LONG = Duration.ofSeconds(30);

    private Processes.Redis redis;
    private SemaphoreClient observer;

    @BeforeEach
    void startServer(@TempDir Path folder) throws IOException {
        redis = Processes.Redis.start(folder);
        observer = SemaphoreClient.connect("redis://127.0.0.1:" + redis.port());
    }

    @AfterEach
    void stopServer() throws InterruptedException {
        redis.go();
        observer.close();
        redis.close();
    }

    @Test
    void whenTheApplicationIsToldToStopItsWaitersEndAtOnceAndItsHoldersFinish() throws Exception {
        stopsWell("a thread");
    }

    @Test
    @EnabledForJreRange(min = JRE.JAVA_21)
    void soItIsOnVirtualThreads() throws Exception {
        stopsWell("a virtual thread", "--spring.threads.virtual.enabled=true");
    }

    private void stopsWell(String kindOfThread, String... options) throws Exception {
        try (Processes.Application app = Processes.Application.start(redis, options)) {
            List<CompletableFuture<HttpResponse<String>>> holders = call(app, SLOTS);
            await().atMost(LONG).until(() -> free() == 0);
            List<CompletableFuture<HttpResponse<String>>> waiters = call(app, WAITERS);
            await().atMost(LONG)
                    .until(() -> app.get("/actuator/semaphores").body().contains("\"waiting\":" + WAITERS));
            assertThat(app.get("/exportIfFree").body()).isEqualTo("skipped");

            long stopped = System.nanoTime();
            app.terminate();
            all(waiters).get(10, TimeUnit.SECONDS);
            long waitersEnded = System.nanoTime() - stopped;

            assertThat(waitersEnded).isLessThan(millis(1000));
            assertThat(waiters).allSatisfy(waiter -> {
                assertThat(waiter.join().statusCode()).isEqualTo(503);
                assertThat(waiter.join().body()).isEqualTo("SemaphoreClosedException");
            });
            assertThat(holders).noneMatch(CompletableFuture::isDone);
            redis.endExports();
            all(holders).get(10, TimeUnit.SECONDS);
            assertThat(holders)
                    .allSatisfy(holder ->
                            assertThat(holder.join().body()).matches("exported in slot [123] by " + kindOfThread));
            assertThat(free()).as("free as soon as the holders are done").isEqualTo(SLOTS);
            app.awaitEnd();
        }
    }

    @Test
    void aPermitThatIsLostInterruptsItsMethodAndHealthAnswersWhileTheServerStandsStill() throws Exception {
        try (Processes.Application app = Processes.Application.start(redis, "--distributed-semaphore.detection=2s")) {
            assertThat(app.get("/actuator/health/distributedSemaphore").body())
                    .contains("\"status\":\"UP\"", "\"backend\":\"redis\"");
            CompletableFuture<HttpResponse<String>> holder = app.begin("/export");
            await().until(() -> free() == SLOTS - 1);

            redis.stop();
            long stopped = System.nanoTime();
            HttpResponse<String> health = app.get("/actuator/health/distributedSemaphore");
            assertThat(System.nanoTime() - stopped).isLessThan(millis(3000));
            assertThat(health.statusCode()).isEqualTo(503);
            assertThat(health.body()).contains("\"status\":\"DOWN\"");

            HttpResponse<String> lost = holder.get(10, TimeUnit.SECONDS);
            assertThat(lost.statusCode()).isEqualTo(503);
            assertThat(lost.body()).isEqualTo("PermitLostException");

            redis.go();
            redis.endExports();
            await().until(() -> app.get("/actuator/health/distributedSemaphore").statusCode() == 200);
            assertThat(app.get("/export").statusCode()).isEqualTo(200);
        }
    }

    private int free() {
        return observer.admin().status("exports").orElseThrow().free();
    }

    private static List<CompletableFuture<HttpResponse<String>>> call(Processes.Application app, int times) {
        List<CompletableFuture<HttpResponse<String>>> calls = new ArrayList<>();
        for (int i = 0; i < times; i++) {
            calls.add(app.begin("/export"));
        }
        return calls;
    }

    private static CompletableFuture<Void> all(List<CompletableFuture<HttpResponse<String>>> calls) {
        return CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new));
    }

    private static long millis(long millis) {
        return Duration.ofMillis(millis).toNanos();
    }
}
