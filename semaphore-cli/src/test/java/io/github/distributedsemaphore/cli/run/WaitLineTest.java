package io.github.distributedsemaphore.cli.run;

import static io.github.distributedsemaphore.cli.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

final class WaitLineTest {
    private final StringWriter terminal = new StringWriter();

    @Test
    void aLongWaitIsShownInOneLineThatGoesAtItsEnd() {
        String text = "waiting for a\nb: 3 of 3 held" + "!".repeat(99);
        WaitLine line = new WaitLine(new PrintWriter(terminal), () -> text);
        await().until(() -> terminal.toString().contains("waiting"));
        line.close();
        String shown = "waiting for a?b: 3 of 3 held" + "!".repeat(99);
        assertThat(terminal.toString()).isEqualTo(replaced(shown.substring(0, 79)) + replaced(""));
    }

    private static String replaced(String line) {
        return "\r\u001b[K\u001b[?7l" + line + "\u001b[?7h";
    }

    @Test
    void aShortWaitShowsNothing() {
        WaitLine line = new WaitLine(new PrintWriter(terminal), () -> "waiting");
        line.close();
        assertThat(terminal.toString()).isEmpty();
    }

    @Test
    void aLookThatTakesItsTimeNeitherDelaysTheEndNorIsShownAfterIt() throws InterruptedException {
        CountDownLatch looking = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        CountDownLatch looked = new CountDownLatch(1);
        WaitLine line = new WaitLine(new PrintWriter(terminal), () -> {
            looking.countDown();
            try {
                goOn.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            looked.countDown();
            return "waiting";
        });
        looking.await();
        line.close();
        goOn.countDown();
        looked.await();
        awaitEndOfThreads();
        assertThat(terminal.toString()).isEmpty();
    }

    private static void awaitEndOfThreads() {
        await().until(() -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().startsWith("semaphore-wait-line")));
    }

    @Test
    void aTerminalThatTakesNothingDoesNotDelayTheEnd() {
        StoppedTerminal stopped = new StoppedTerminal();
        WaitLine line = new WaitLine(new PrintWriter(stopped), () -> "waiting");
        try {
            stopped.awaitWrite();
            assertTimeoutPreemptively(Duration.ofSeconds(30), line::close);
        } finally {
            stopped.goOn();
        }
        awaitEndOfThreads();
    }

    /** As one after Ctrl-S, or a pipe that is full. */
    static final class StoppedTerminal extends Writer {
        private final CountDownLatch asked = new CountDownLatch(1);
        private final CountDownLatch goesOn = new CountDownLatch(1);

        @Override
        public void write(char[] text, int offset, int length) {
            asked.countDown();
            boolean isInterrupted = false;
            while (goesOn.getCount() > 0) {
                try {
                    goesOn.await();
                } catch (InterruptedException e) {
                    // Nor does an interrupt end the writing to a terminal.
                    isInterrupted = true;
                }
            }
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }

        void awaitWrite() {
            await().until(() -> asked.getCount() == 0);
        }

        void goOn() {
            goesOn.countDown();
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }
}
