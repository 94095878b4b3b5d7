package io.github.distributedsemaphore.cli.run;

import static io.github.distributedsemaphore.cli.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.cli.common.ExitCodes;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class GuardedRunTest {
    @TempDir
    private Path folder;

    @Test
    void aPermitThatIsLostBeforeTheStartStartsNothing() throws IOException, InterruptedException {
        Path lose = folder.resolve("lose");
        Path started = folder.resolve("started");
        StringWriter err = new StringWriter();
        try (SignalRelay signals = new SignalRelay(Thread.currentThread());
                SemaphoreClient client = SemaphoreClient.connect("scripted:?loseOn=" + lose);
                PermitGroup held = client.semaphore("job").acquire(1)) {
            GuardedRun run = new GuardedRun("job", held, List.of(), signals, new PrintWriter(err, true), Duration.ZERO);
            Files.createFile(lose);
            await().until(() -> !held.permits().get(0).isValid());

            assertThat(run.run(List.of("touch", started.toString()))).isEqualTo(ExitCodes.PERMIT_LOST);
        }
        assertThat(started).doesNotExist();
        assertThat(err.toString()).contains("job: the permit was lost").hasLineCount(1);
    }
}
