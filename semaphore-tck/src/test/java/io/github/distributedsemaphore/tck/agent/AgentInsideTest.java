package io.github.distributedsemaphore.tck.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonObject;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.memory.ServerSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.run.TckSettings;
import io.github.distributedsemaphore.tck.run.TckTiming;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What an agent has in its process. */
class AgentInsideTest {
    private static final Duration LATE = Duration.ofMillis(50);

    private static void late(Runnable beat) {
        Pause.millis(LATE.toMillis());
        beat.run();
    }

    private static TckTiming timing(Heartbeat heartbeat) {
        return new TckTiming(TckSettings.from(Map.<String, String>of()::get), heartbeat);
    }

    @Test
    void shortPausesThatLeaveNextToNoTimeAreAsBadAsALongOne() {
        try (Heartbeat heartbeat = new Heartbeat(hop -> new Thread(() -> late(hop), "tck-heartbeat hop"))) {
            TckTiming timing = timing(heartbeat);
            long from = System.nanoTime();
            Pause.millis(20 * LATE.toMillis());
            long to = System.nanoTime();
            assertThat(heartbeat.longestPause(from, to))
                    .isBetween(LATE.toNanos(), heartbeat.stoodStill(from, to) - LATE.toNanos());
            assertThat(timing.mayLose(LATE, from, to)).isTrue();
            assertThat(timing.mayLose(LATE.multipliedBy(10), from, to)).isTrue();
            assertThat(timing.mayLose(LATE.multipliedBy(100), from, to)).isFalse();
            assertThat(timing.mayLose(Duration.ZERO, from, to)).isFalse();
        }
    }

    private static long worst(long stretch, long... pauses) {
        List<Heartbeat.Gap> gaps = new ArrayList<>();
        for (int i = 0; i < pauses.length; i += 2) {
            gaps.add(new Heartbeat.Gap(pauses[i], pauses[i + 1]));
        }
        return Heartbeat.mostStoodStill(gaps, stretch, 0, 10_000);
    }

    @Test
    void theWorstStretchMayBeginInsideAPause() {
        assertThat(worst(1_000)).isZero();
        assertThat(worst(1_000, 0, 3_000)).isEqualTo(1_000);
        assertThat(worst(1_000, 0, 450, 560, 1_010)).isEqualTo(890);
        assertThat(worst(200, 0, 50, 300, 350)).isEqualTo(50);
        assertThat(worst(1_000, 0, 100, 200, 300, 400, 500, 5_000, 5_010)).isEqualTo(300);
        assertThat(worst(1_000, 9_800, 10_500)).isEqualTo(200);
    }

    @Test
    void whereNoThreadCanBeMadeNobodyWaitsForABeat() {
        try (Heartbeat heartbeat = new Heartbeat(hop -> {
            throw new OutOfMemoryError("unable to create a thread, on purpose");
        })) {
            long now = System.nanoTime();
            assertThat(heartbeat.stoodStill(now, System.nanoTime())).isZero();
        }
    }

    /** Refuses to take anything back for as long as it is told to. */
    private static final class Refusing extends ProbedServer {
        private volatile boolean refuses = true;

        Refusing() {
            super(Duration.ofSeconds(30), MemoryServer.ALL);
        }

        @Override
        protected ExchangeResult exchange(ServerSession session, long sequence, ExchangeRequest request) {
            if (refuses && !request.giveBack().isEmpty()) {
                throw new BackendUnavailableException("no release today", null);
            }
            return super.exchange(session, sequence, request);
        }
    }

    private static boolean isWatching() {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().equals("tck-validity"));
    }

    @Test
    void whenOneReleaseFailsTheOtherPermitsAreReleasedToo() {
        Refusing server = new Refusing();
        try (SemaphoreClient client = SemaphoreClient.builder(new MemoryBackend(server, HolderInfo.ofThisProcess("")))
                .connect()) {
            client.admin().create("two", 2);
            DistributedSemaphore semaphore = client.semaphore("two");
            HeldByAgent held =
                    new HeldByAgent(semaphore.tryAcquire(2).orElseThrow().permits());
            assertThatThrownBy(() -> AgentCommands.release(held, new JsonObject()))
                    .isInstanceOf(SemaphoreException.class);
            server.refuses = false;
            for (int tries = 0; tries < 1_000 && semaphore.availablePermits() < 2; tries++) {
                Pause.millis(10);
            }
            assertThat(semaphore.availablePermits()).isEqualTo(2);
            for (int tries = 0; tries < 1_000 && isWatching(); tries++) {
                Pause.millis(10);
            }
            assertThat(isWatching()).as("a thread looks at released permits").isFalse();
        }
    }
}
