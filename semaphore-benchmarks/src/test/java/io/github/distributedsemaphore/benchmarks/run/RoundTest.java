package io.github.distributedsemaphore.benchmarks.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.benchmarks.cells.Mode;
import io.github.distributedsemaphore.benchmarks.cells.RoundReport;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import io.github.distributedsemaphore.benchmarks.contestants.Contestant;
import io.github.distributedsemaphore.benchmarks.contestants.Pass;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a pair costs its process. */
class RoundTest {
    private static final Variant VARIANT = Variant.of(Mode.FLOOR, 2, 1);
    private static final int CHUNK = 1 << 20;

    @TempDir
    private Path folder;

    private final ExecutorService another = Executors.newSingleThreadExecutor();
    private volatile byte[] chunk = {};

    @Test
    void theThreadsOfTheRoundAndTheOthersOfTheProcessArePaidFor() throws Exception {
        Duration work = Duration.ofMillis(2);
        try (Contestant costly = new Costly(work)) {
            Round round = new Round(VARIANT, costly, HolderWatch.open(folder.resolve("watch"), VARIANT), 0);
            round.prepare();

            RoundReport report = round.run(300);

            long pairs = report.pairs();
            assertThat(pairs).isPositive();
            // A pair that ends after the time is not counted, and costs as much.
            assertThat(report.allocatedBytes())
                    .isBetween(2L * CHUNK * pairs, 2L * CHUNK * (pairs + VARIANT.threads()) + 8L * CHUNK);
            assertThat(report.cpuNanos()).isGreaterThanOrEqualTo(work.toNanos() * pairs);
        }
    }

    /** Allocates in the calling thread and in another one, and keeps a processor busy. */
    private final class Costly implements Contestant {
        private final Duration work;

        Costly(Duration work) {
            this.work = work;
        }

        @Override
        public Pass acquire(int thread, int name) throws InterruptedException {
            chunk = new byte[CHUNK];
            try {
                another.submit(() -> chunk = new byte[CHUNK]).get();
            } catch (ExecutionException e) {
                throw new IllegalStateException(e);
            }
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            long enough = threads.getCurrentThreadCpuTime() + work.toNanos();
            while (threads.getCurrentThreadCpuTime() < enough) {
                Thread.onSpinWait();
            }
            return Pass.withoutSlot(() -> {});
        }

        @Override
        public void close() {
            another.shutdown();
        }
    }
}
