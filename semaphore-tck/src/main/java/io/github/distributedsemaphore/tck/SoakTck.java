package io.github.distributedsemaphore.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.spi.support.Durations;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.agent.AgentPool;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.history.Endurance;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.Operation;
import io.github.distributedsemaphore.tck.report.SoakFigures;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A soak: a client in this JVM and one in another take turns at a semaphore for a third of each minute, a client comes and goes with a
 * semaphore of its own each minute, and one is killed with a permit every fifth. At the end of each minute, when nobody holds anything,
 * the memory, threads and descriptors of both clients and of the server are counted, and what is stored. Nothing may grow, no two may
 * hold one slot, and each minute all permits have to come back.
 *
 * <p>A subclass supplies the harness. System properties: {@code tck.soak} (how long, such as {@code 2h}; without it there is no
 * soak), {@code tck.seed}, {@code tck.reports}. The figures are written to {@code soak.json} and {@code soak.svg} in the
 * folder of the subclass there, anew each minute. The server has to be a process that this JVM started; else it is not counted.
 */
public abstract class SoakTck {
    private static final int LIMIT = 3;
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final Duration BUSY = Duration.ofSeconds(20);
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int MINUTES_PER_DEATH = 5;

    private final Random random = new Random(Long.getLong("tck.seed", System.nanoTime()));
    private final String name = "soak-" + UUID.randomUUID();

    /** For subclasses. */
    protected SoakTck() {}

    /**
     * Makes a harness with agents in other JVMs.
     *
     * @return the harness; the kit closes it
     */
    protected abstract SemaphoreTckHarness harness();

    @Test
    @Timeout(value = 2, unit = TimeUnit.DAYS) // as long as it is asked to
    final void nothingGrows() throws Exception {
        String length = System.getProperty("tck.soak", "");
        assumeTrue(!length.isEmpty(), "a soak takes hours: it runs with -Dtck.soak=2h");
        long end = System.nanoTime() + Durations.parse(length).toNanos();
        try (SemaphoreTckHarness harness = harness();
                AgentPool pool = new AgentPool(harness.agents().orElseThrow());
                SemaphoreClient home = harness.connect(ClientSpec.plain());
                Agent other = pool.take(ClientSpec.plain())) {
            SoakFigures figures = new SoakFigures(harness.backendVersion());
            home.admin().create(name, LIMIT);
            for (int minute = 1; System.nanoTime() - end < 0; minute++) {
                long next = System.nanoTime() + MINUTE.toNanos();
                long grants = contend(home, other);
                comeAndGo(harness);
                if (minute % MINUTES_PER_DEATH == 0) {
                    dieHolding(pool);
                }
                awaitAllFree(home.semaphore(name), home.guarantees().detectionMax());
                TimeUnit.NANOSECONDS.sleep(next - System.nanoTime());
                figures.look(other.pid(), harness.leftovers(), grants);
                write(figures);
            }
            home.admin().destroy(name);
            assertThat(figures.grown()).as("what grew").isEmpty();
        }
    }

    private void write(SoakFigures figures) throws IOException {
        figures.write(Path.of(
                System.getProperty("tck.reports", "target/tck"), getClass().getSimpleName()));
    }

    /** Returns how many permits were granted. */
    private long contend(SemaphoreClient home, Agent other) throws InterruptedException {
        boolean fencing = home.guarantees().has(Capability.FENCING);
        other.endure(name, "other-", 1, 1, random.nextLong());
        Endurance here =
                new Endurance(home.semaphore(name), new HistoryRecorder("home-", fencing), 1, 1, random.nextLong());
        TimeUnit.NANOSECONDS.sleep(BUSY.toNanos());
        History history = here.end(LIMIT, PATIENCE).with(other.endEnduring());
        assertThat(HistoryChecks.violationsButRefusals(history, fencing)).isEmpty();
        return history.operations().stream().filter(Operation::isGrant).count();
    }

    private static void comeAndGo(SemaphoreTckHarness harness) throws InterruptedException {
        String own = "soak-" + UUID.randomUUID();
        try (SemaphoreClient client = harness.connect(ClientSpec.plain())) {
            client.admin().create(own, 1);
            client.semaphore(own).acquire().close();
            client.admin().destroy(own);
        }
    }

    private void dieHolding(AgentPool pool) {
        try (Agent victim = pool.take(ClientSpec.plain())) {
            assertThat(victim.acquire(name, 1, PATIENCE))
                    .as("a permit that must be free")
                    .isPresent();
            victim.kill9();
        }
    }

    private static void awaitAllFree(DistributedSemaphore semaphore, Duration detection) throws InterruptedException {
        long end = System.nanoTime() + detection.plus(PATIENCE).toNanos();
        while (semaphore.availablePermits() < LIMIT) {
            assertThat(System.nanoTime() - end)
                    .as("%d of %d permits are free", semaphore.availablePermits(), LIMIT)
                    .isNegative();
            TimeUnit.MILLISECONDS.sleep(100);
        }
    }
}
