package io.github.distributedsemaphore.benchmarks.scale;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.benchmarks.run.Progress;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import io.github.distributedsemaphore.benchmarks.servers.RedisProcess;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CrowdTest {
    @TempDir
    private Path folder;

    /** Ten seconds, most of which it waits until the clients have settled. */
    @Test
    void aWaitThatLastsBeyondTheMeasuredTimeCountsToo() throws InterruptedException {
        try (MeasuredServer server = new RedisProcess(folder, false, 100);
                SemaphoreClient other = SemaphoreClient.connect(server.uri())) {
            other.admin().create("scale", 1);
            PermitGroup held = other.semaphore("scale").acquire(1);
            ScaleFigures figures =
                    new ScaleFigures(server, new Progress(new PrintWriter(Writer.nullWriter()), false), 1);
            try (Crowd crowd = new Crowd(figures, server.uri(), 1, 1)) {
                crowd.gather(2);
                crowd.goRound();
            }
            held.close();

            assertThat(figures.toString())
                    .containsPattern("grants a second, held for 10 ms +0\\.000")
                    // It began before the eight seconds in which the clients settle.
                    .containsPattern("longest wait, seconds +(9|[1-9]\\d)\\.");
        }
    }
}
