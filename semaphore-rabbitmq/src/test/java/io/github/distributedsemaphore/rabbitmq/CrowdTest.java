package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes that contend and are killed while they do. A lock of the operating system for each slot is the witness. */
class CrowdTest {
    private static final int LIMIT = 2;
    private static final int KILLS = 4;
    private static final int TURNS = 5;
    private static final String TURN = "turn";

    private final String name = Rabbit.name();
    private final SemaphoreBackend backend = Rabbit.backend("?detection=4s");
    private final List<Worker> workers = new ArrayList<>();

    @TempDir
    private Path folder;

    @AfterEach
    void cleanUp() {
        workers.forEach(worker -> worker.process.destroyForcibly());
        backend.admin().destroy(name);
        backend.close();
    }

    /** Takes and releases without end, and says so; ends when somebody else is in its slot. */
    static final class Child {
        private Child() {}

        public static void main(String[] args) throws Exception {
            try (SemaphoreClient client = SemaphoreClient.connect(args[0])) {
                DistributedSemaphore semaphore = client.semaphore(args[1]);
                while (true) {
                    try (Permit permit = semaphore.acquire(Duration.ofSeconds(60))) {
                        work(Path.of(args[2], "slot-" + permit.slot()));
                    }
                }
            }
        }

        private static void work(Path slot) throws Exception {
            try (FileChannel file = FileChannel.open(slot, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    FileLock alone = file.tryLock()) {
                System.out.println(alone == null ? "overlap in " + slot : TURN);
                Thread.sleep(2);
            }
        }
    }

    /** A process and what it says. */
    private record Worker(Process process, BufferedReader says) {
        void awaitTurns(int turns) throws IOException {
            for (int i = 0; i < turns; i++) {
                assertThat(says.readLine()).isEqualTo(TURN);
            }
        }

        /** Kills it, wherever it is, and hears its last words. */
        void kill() throws IOException {
            // Of the process itself it would also close what can still be read.
            process.toHandle().destroyForcibly();
            for (String line = says.readLine(); line != null; line = says.readLine()) {
                assertThat(TURN).startsWith(line);
            }
        }
    }

    private Worker start() throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Child.class.getName(),
                        RabbitServer.uri() + "?detection=4s",
                        name,
                        folder.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        Worker worker = new Worker(
                process, new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)));
        workers.add(worker);
        return worker;
    }

    @Test
    void howeverManyOfThemAreKilledNoSlotIsEverUsedTwiceAndAllComeBack() throws IOException {
        backend.admin().create(name, LIMIT);
        for (int i = 0; i <= LIMIT; i++) {
            start();
        }
        for (int kill = 0; kill < KILLS; kill++) {
            Worker next = start();
            next.awaitTurns(TURNS);
            Worker victim = workers.remove(0);
            victim.kill();
        }
        for (Worker worker : workers) {
            worker.awaitTurns(1);
            worker.kill();
        }
        BackendSession heir = backend.open(name, new Rabbit.News());
        await().until(() -> Rabbit.take(heir, LIMIT).answers().get(0) instanceof Answer.Granted);
        heir.close();
    }
}
