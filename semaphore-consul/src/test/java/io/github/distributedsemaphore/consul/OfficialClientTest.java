package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.giveBack;
import static io.github.distributedsemaphore.consul.Consul.take;
import static io.github.distributedsemaphore.consul.Consul.takeHolds;
import static io.github.distributedsemaphore.consul.Consul.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.agent.AgentPool;
import io.github.distributedsemaphore.tck.harness.AgentLauncher;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One semaphore, shared with the real {@code consul lock -n 3}. */
class OfficialClientTest {
    private final ConsulServer server = ConsulServer.shared();
    private final String name = "mixed/" + Consul.uniqueName();
    private final List<Process> processes = new ArrayList<>();
    private SemaphoreBackend backend;
    private BackendSession session;

    @TempDir
    Path directory;

    @BeforeEach
    void open() {
        backend = Consul.open("detection=22s");
        backend.admin().create(name, 3);
        session = backend.open(name, new Consul.Losses());
    }

    @AfterEach
    void close() {
        processes.forEach(OfficialClientTest::kill);
        session.close();
        server.deleteBelow(name);
        backend.close();
    }

    private static void kill(Process process) {
        // The command that holds the lock leaves its child to itself when it is killed.
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
    }

    private Process lock(int limit, String command) {
        ProcessBuilder builder =
                new ProcessBuilder(ConsulAgent.binary(), "lock", "-n", Integer.toString(limit), name, command);
        builder.environment().put("CONSUL_HTTP_ADDR", server.address());
        builder.redirectErrorStream(true)
                .redirectOutput(directory.resolve("out-" + processes.size()).toFile());
        try {
            Process process = builder.start();
            processes.add(process);
            return process;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Process lockAndStay(String mark) {
        return lock(3, "touch " + directory.resolve(mark) + "; exec sleep 300");
    }

    private boolean isInside(String mark) {
        return Files.exists(directory.resolve(mark));
    }

    @Test
    void aHolderOfEitherKindKeepsTheOtherOut() throws Exception {
        List<Hold> holds = takeHolds(session, 2);
        lockAndStay("first");
        await().atMost(Duration.ofSeconds(10)).until(() -> isInside("first"));
        assertThat(take(session, 1)).isEqualTo(Answer.FULL);
        Process second = lockAndStay("second");
        await().atMost(Duration.ofSeconds(10))
                .until(() ->
                        backend.admin().describe(name).orElseThrow().holders().size() == 3);
        assertThat(second.waitFor(300, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(isInside("second")).isFalse();

        giveBack(session, holds.get(0));
        await("our release wakes the official client")
                .atMost(Duration.ofSeconds(5))
                .until(() -> isInside("second"));
        assertThat(session.check(holds.get(1))).isNotNull();
        assertThat(backend.admin().describe(name).orElseThrow().holders())
                .extracting(holder -> holder.slot())
                .containsExactly(0, 0, holds.get(1).slot());
    }

    @Test
    void theOfficialClientsReleaseWakesOurs() throws Exception {
        for (String mark : List.of("a", "b", "c")) {
            Path end = directory.resolve("end");
            lock(3, "touch " + directory.resolve(mark) + "; while [ ! -e " + end + " ]; do sleep 0.02; done");
        }
        await().atMost(Duration.ofSeconds(10)).until(() -> isInside("a") && isInside("b") && isInside("c"));
        assertThat(take(session, 1)).isEqualTo(Answer.FULL);
        CountDownLatch hinted = new CountDownLatch(1);
        try (BackendSession.Watch watch = session.watch(hinted::countDown)) {
            assertThat(watch).isNotNull();
            Files.createFile(directory.resolve("end"));
            assertThat(hinted.await(5, TimeUnit.SECONDS)).isTrue();
        }
        for (Process process : processes) {
            assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(takeHolds(session, 3)).extracting(Hold::slot).containsExactly(1, 2, 3);
    }

    @Test
    void theLimitAndRisingEpochsOutliveTheLastOfficialClient() throws Exception {
        Hold before = takeOne(session);
        giveBack(session, before);
        Process process = lock(3, "true");
        assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isZero();
        assertThat(server.get(name + "/.lock")).as("it has cleaned up").isEmpty();
        assertThat(takeOne(session).epoch()).isGreaterThan(before.lastEpoch());
        assertThat(backend.admin().describe(name).orElseThrow().limit()).isEqualTo(3);
    }

    @Test
    void anotherLimitOnEitherSideIsRefusedAndNothingOverwritten() throws Exception {
        Hold hold = takeOne(session);
        Process process = lock(5, "true");
        assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(1);
        giveBack(session, hold);
        server.delete(name + "/.lock");

        Path end = directory.resolve("end");
        Process five =
                lock(5, "touch " + directory.resolve("in") + "; while [ ! -e " + end + " ]; do sleep 0.02; done");
        await().atMost(Duration.ofSeconds(10)).until(() -> isInside("in"));
        String body = server.get(name + "/.lock");
        assertThatThrownBy(() -> take(session, 1))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining(name + "/.lock")
                .hasMessageContaining("limit 5, expected 3");
        assertThat(server.get(name + "/.lock")).isEqualTo(body);
        Files.createFile(end);
        assertThat(five.waitFor(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void theHoldersOfADestroyedSemaphoreAreCountedUntilTheyEnd() throws Exception {
        Path end = directory.resolve("end");
        Process process =
                lock(3, "touch " + directory.resolve("in") + "; while [ ! -e " + end + " ]; do sleep 0.02; done");
        await().atMost(Duration.ofSeconds(10)).until(() -> isInside("in"));
        takeOne(session);
        assertThat(backend.admin().retiredHolders(name)).isZero();
        backend.admin().destroy(name);
        assertThat(backend.admin().retiredHolders(name)).isEqualTo(2);
        session.close();
        assertThat(backend.admin().retiredHolders(name)).isEqualTo(1);
        Files.createFile(end);
        assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(backend.admin().retiredHolders(name)).isZero();
    }

    @Test
    void holdersForWhomALowerLimitLeavesNoPlaceAreCounted() {
        takeOne(session);
        lockAndStay("first");
        lockAndStay("second");
        await().atMost(Duration.ofSeconds(10)).until(() -> isInside("first") && isInside("second"));
        backend.admin().resize(name, 2);
        assertThat(backend.admin().retiredHolders(name)).isEqualTo(1);
        backend.admin().resize(name, 1);
        assertThat(backend.admin().retiredHolders(name)).isEqualTo(2);
        backend.admin().resize(name, 4);
        assertThat(backend.admin().retiredHolders(name)).isZero();
    }

    @Test
    void aPlainLockOnThePrefixIsRefused() {
        server.delete(name + "/.lock");
        lock(1, "touch " + directory.resolve("in") + "; exec sleep 300");
        await().atMost(Duration.ofSeconds(10)).until(() -> isInside("in"));
        assertThatThrownBy(() -> take(session, 1))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("plain lock");
    }

    @Test
    void eachSidePrunesTheDeadOfTheOther() {
        takeHolds(session, 3);
        List<String> ours = server.holders(name);
        session.abort();
        ours.forEach(server::destroySession);
        Process theirs = lockAndStay("first");
        await("the official client prunes ours").atMost(Duration.ofSeconds(10)).until(() -> isInside("first"));
        List<String> dead = server.holders(name);
        assertThat(dead).hasSize(1).doesNotContainAnyElementsOf(ours);
        kill(theirs);
        dead.forEach(server::destroySession);
        try (BackendSession next = backend.open(name, new Consul.Losses())) {
            assertThat(takeHolds(next, 3)).extracting(Hold::slot).containsExactly(1, 2, 3);
            assertThat(server.holders(name)).hasSize(3).doesNotContainAnyElementsOf(dead);
        }
    }

    /** Counts by files that only a process inside has, and by nothing of the semaphore's. */
    @Test
    void neverMoreThanTheLimitAreInsideWithKillsOnBothSides() throws Exception {
        Path inside = Files.createDirectory(directory.resolve("inside"));
        Path counts = directory.resolve("counts");
        String enter = "f=$(mktemp -p " + inside + "); ls " + inside + " | wc -l >> " + counts
                + "; sleep 0.0$((RANDOM % 9)); rm $f";
        ExecutorService threads = Executors.newFixedThreadPool(6);
        String uri = Consul.uri("detection=22s");
        try (SemaphoreClient client = SemaphoreClient.connect(uri);
                AgentPool jvms = new AgentPool(AgentLauncher.sameClassPath(uri))) {
            DistributedSemaphore semaphore = client.semaphore(name);
            List<Future<Integer>> workers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                workers.add(threads.submit(() -> repeat(25, () -> enterByPermit(semaphore, inside, counts))));
                workers.add(threads.submit(() -> repeat(8, () -> enterByCommand(enter))));
            }
            // On each side a process is killed inside: its place is lost for the detection bound, and then found again.
            Process victim = lockAndStay("victim");
            await().atMost(Duration.ofSeconds(20)).until(() -> isInside("victim"));
            kill(victim);
            try (Agent ours = jvms.take(ClientSpec.plain())) {
                assertThat(ours.acquire(name, 1, Duration.ofSeconds(60))).isPresent();
                ours.kill9();
            }
            for (Future<Integer> worker : workers) {
                assertThat(worker.get(90, TimeUnit.SECONDS)).isPositive();
            }
            assertThat(Files.readAllLines(counts))
                    .hasSize(3 * (25 + 8))
                    .allSatisfy(
                            line -> assertThat(Integer.parseInt(line.strip())).isBetween(1, 3));
        } finally {
            threads.shutdownNow();
        }
        await("the places of dead clients are free again")
                .atMost(Duration.ofSeconds(35))
                .until(() -> backend.admin().describe(name).orElseThrow().free() == 3);
    }

    private static int repeat(int times, Callable<?> step) throws Exception {
        for (int i = 0; i < times; i++) {
            step.call();
        }
        return times;
    }

    private static Object enterByPermit(DistributedSemaphore semaphore, Path inside, Path counts) throws Exception {
        try (Permit permit = semaphore.acquire(Duration.ofSeconds(60))) {
            assertThat(permit.isValid()).isTrue();
            Path mine = Files.createTempFile(inside, "java", "");
            try (var files = Files.list(inside)) {
                count(counts, files.count());
            }
            Files.delete(mine);
            return mine;
        }
    }

    private static synchronized void count(Path counts, long number) throws IOException {
        Files.writeString(counts, number + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private Object enterByCommand(String command) throws Exception {
        ProcessBuilder builder =
                new ProcessBuilder(ConsulAgent.binary(), "lock", "-n", "3", name, "bash -c '" + command + "'");
        builder.environment().put("CONSUL_HTTP_ADDR", server.address());
        Process process = builder.redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isZero();
        return process;
    }
}
