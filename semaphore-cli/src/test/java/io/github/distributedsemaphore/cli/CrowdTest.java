package io.github.distributedsemaphore.cli;

import static io.github.distributedsemaphore.cli.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.SemaphoreClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A crowd of {@code semaphore run} processes on one name, some of which are killed, counted by a shell script that knows
 * nothing of semaphores. {@code -Dcrowd.processes=200} makes the crowd larger.
 */
final class CrowdTest {
    private static final int SLOTS = 3;
    private static final int PROCESSES = Integer.getInteger("crowd.processes", 16);
    private static final int KILLED_OF_TEN = 2;

    /**
     * Adds itself to a list under a lock, counts who on the list is alive, and notes the count. The dead, of whom a kill
     * leaves entries behind, are those without a process or with one that waits only to be reaped.
     */
    private static final String COUNT_ME = """
            cd "$1"
            (
              flock 9
              echo $$ >> inside
              count=0
              while read -r pid; do
                if grep -q '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" 2>/dev/null; then count=$((count + 1)); fi
              done < inside
              echo "$count" >> counts
            ) 9> lock
            sleep "$2"
            (
              flock 9
              grep -vx $$ inside > inside.new
              mv inside.new inside
            ) 9> lock
            """;

    @TempDir
    private Path folder;

    @Test
    @Timeout(900)
    void neverHasMoreInsideThanSlotsAlsoWhenSomeAreKilled() throws IOException {
        Path script = script();
        String backend = "local:" + folder.resolve("state");
        List<String> words = List.of(
                "--backend", backend, "run", "--limit", "" + SLOTS, "job", "--", "sh", "" + script, "" + folder, "0.1");
        List<CommandProcess> crowd = new ArrayList<>();
        try {
            IntStream.range(0, PROCESSES).forEach(i -> crowd.add(CommandProcess.start(folder, words)));
            int killed = killSome(crowd);
            Awaitility.await()
                    .atMost(Duration.ofSeconds(60 + 3L * PROCESSES))
                    .until(() -> crowd.stream().noneMatch(CommandProcess::isAlive));

            List<Integer> codes = crowd.stream().map(CommandProcess::exitCode).toList();
            System.out.printf(
                    "crowd: %d processes, %d killed, most inside %d of %d%n", PROCESSES, killed, mostInside(), SLOTS);
            assertThat(codes).filteredOn(code -> code != 0).hasSize(killed).containsOnly(128 + 9);
            assertThat(mostInside()).isBetween(1, SLOTS);
            assertNothingIsLeft(backend);
        } finally {
            crowd.forEach(CommandProcess::close);
        }
    }

    @Test
    void theScriptSeesOneTooMany() throws Exception {
        Path script = script();
        List<Process> intruders = new ArrayList<>();
        try {
            for (int i = 0; i <= SLOTS; i++) {
                intruders.add(new ProcessBuilder("sh", "" + script, "" + folder, "60").start());
            }
            await().untilAsserted(() -> assertThat(mostInside()).isEqualTo(SLOTS + 1));
        } finally {
            // The scripts before what they wait for, or they would go on and write.
            List<ProcessHandle> sleeps =
                    intruders.stream().flatMap(Process::descendants).toList();
            intruders.forEach(process -> process.destroyForcibly().onExit().join());
            sleeps.forEach(ProcessHandle::destroyForcibly);
        }
    }

    private Path script() throws IOException {
        return Files.writeString(folder.resolve("count-me.sh"), COUNT_ME);
    }

    /** Kills one now and then, whichever it is: a waiter, a holder, or one that has only just begun. */
    private int killSome(List<CommandProcess> crowd) throws IOException {
        Random random = new Random();
        int killed = 0;
        while (killed < PROCESSES * KILLED_OF_TEN / 10) {
            long grants = grants();
            List<CommandProcess> alive =
                    crowd.stream().filter(CommandProcess::isAlive).toList();
            if (alive.isEmpty()) {
                break;
            }
            CommandProcess victim = alive.get(random.nextInt(alive.size()));
            victim.kill();
            if (victim.exitCode() == 128 + 9) {
                killed++;
            }
            Awaitility.await()
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> grants() > grants || crowd.stream().noneMatch(CommandProcess::isAlive));
        }
        return killed;
    }

    private List<String> counts() throws IOException {
        Path counts = folder.resolve("counts");
        return Files.exists(counts) ? Files.readAllLines(counts) : List.of();
    }

    private long grants() throws IOException {
        return counts().size();
    }

    private int mostInside() throws IOException {
        return counts().stream().mapToInt(Integer::parseInt).max().orElse(0);
    }

    private void assertNothingIsLeft(String backend) {
        try (SemaphoreClient client = SemaphoreClient.connect(backend)) {
            assertThat(client.semaphore("job").availablePermits()).isEqualTo(SLOTS);
        }
        await().untilAsserted(
                        () -> assertThat(CommandProcess.watchers("" + folder)).isEmpty());
    }
}
