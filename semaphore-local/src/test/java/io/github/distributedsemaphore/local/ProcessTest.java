package io.github.distributedsemaphore.local;

import static io.github.distributedsemaphore.local.Local.giveBack;
import static io.github.distributedsemaphore.local.Local.session;
import static io.github.distributedsemaphore.local.Local.take;
import static io.github.distributedsemaphore.local.Local.takeHolds;
import static io.github.distributedsemaphore.local.Local.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Holders in other processes, which are killed, stopped, or end in order. */
class ProcessTest {
    @TempDir
    Path directory;

    private Path state;
    private SemaphoreBackend backend;
    private BackendAdmin admin;
    private BackendSession session;

    @BeforeEach
    void open() {
        state = directory.resolve("state");
        backend = Local.open(state);
        admin = backend.admin();
        admin.create("jobs", 3);
        session = session(backend, "jobs");
    }

    @AfterEach
    void close() {
        session.close();
        backend.close();
    }

    @Test
    void anExchangeThatCannotBeWrittenLeavesTheSessionWhatItHad() {
        // The name of slot 1's holder ends at 514 KiB, that of slot 2's at 515.
        try (Child child = Child.startWithFilesUpTo(514, "fail", state, "jobs")) {
            assertThat(child.await("FAILED")).contains("jobs");
            assertThat(child.await("LOST")).isEqualTo("0");
            assertThat(takeHolds(session, 3)).hasSize(3);
            child.finish();
        }
    }

    @Test
    void aReleaseInADestroyedSemaphoreThatCannotBeWrittenLeavesTheSessionWhatItHad() {
        try (Child child = Child.start("release", state, "jobs")) {
            child.await("HOLDS");
            admin.destroy("jobs");
            // The entry of slot 2 ends there, and that of slot 3 begins.
            child.limitFilesTo("96");
            child.next();
            assertThat(child.await("FAILED")).contains("BackendUnavailableException", "nothing was done");
            child.limitFilesTo("unlimited");
            child.next();
            assertThat(child.await("LOST")).isEqualTo("0");
            assertThat(admin.retiredHolders("jobs")).isEqualTo(1);
            child.finish();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aReleaseThatCanBeNeitherWrittenNorUndoneHasAnUnknownOutcomeThatIsFoundOut(boolean destroyed) {
        try (Child child = Child.start("release", state, "jobs")) {
            child.await("HOLDS");
            if (destroyed) {
                admin.destroy("jobs");
            }
            // In the midst of the entry of slot 2: that nobody has it can be written, but not the whole entry.
            child.limitFilesTo("80");
            child.next();
            assertThat(child.await("FAILED")).contains("OutcomeUnknownException", "'jobs'", "half-way");
            child.limitFilesTo("unlimited");
            child.next();
            assertThat(child.await("LOST")).isEqualTo("0");
            assertThat(admin.retiredHolders("jobs")).isEqualTo(destroyed ? 1 : 0);
            assertThat(take(session, 2)).isInstanceOf(destroyed ? Answer.MISSING.getClass() : Answer.Granted.class);
            child.finish();
        }
    }

    @Test
    void aKilledProcessFreesItsSlotsAtOnceAndIsNotShownAnyMore() {
        try (Child child = Child.start("hold", state, "jobs", 2)) {
            long epoch = Long.parseLong(child.await("HOLDS"));
            assertThat(take(session, 2)).isEqualTo(Answer.FULL);
            Holder shown = admin.describe("jobs").orElseThrow().holders().get(0);
            assertThat(shown.pid()).isEqualTo(child.pid());
            assertThat(shown.label()).isEqualTo("child");
            assertThat(shown.epoch()).isEqualTo(epoch);
            assertThat(take(session, 2)).isEqualTo(Answer.FULL);

            child.kill();
            assertThat(admin.describe("jobs").orElseThrow().holders()).isEmpty();
            assertThat(takeHolds(session, 3))
                    .filteredOn(hold -> hold.slot() == shown.slot())
                    .singleElement()
                    .satisfies(hold -> assertThat(hold.epoch()).isGreaterThan(epoch));
        }
    }

    @Test
    void aProcessThatEndsInOrderFreesItsSlots() {
        try (Child child = Child.start("hold", state, "jobs", 3)) {
            child.await("HOLDS");
            assertThat(take(session, 1)).isEqualTo(Answer.FULL);
            child.finish();
            assertThat(takeHolds(session, 3)).hasSize(3);
        }
    }

    @Test
    void aHolderOfADestroyedSemaphoreKeepsItsSlotUntilItIsKilled() {
        try (Child child = Child.start("hold", state, "jobs", 1)) {
            child.await("HOLDS");
            admin.destroy("jobs");
            assertThat(admin.retiredHolders("jobs")).isEqualTo(1);
            admin.create("jobs", 2);
            assertThat(takeOne(session).slot()).isEqualTo(2);
            assertThat(take(session, 1)).isEqualTo(Answer.FULL);
            admin.destroy("jobs");
            child.kill();
            session.close();
            assertThat(admin.retiredHolders("jobs")).isZero();
            admin.destroy("jobs");
            assertThat(state.resolve("n-jobs")).doesNotExist();
        }
    }

    @Test
    void aRetiredHolderInAnotherProcessIsShownAsSuch() {
        takeHolds(session, 2);
        try (Child child = Child.start("hold", state, "jobs", 1)) {
            child.await("HOLDS");
            admin.resize("jobs", 1);
            assertThat(admin.describe("jobs").orElseThrow().holders())
                    .filteredOn(holder -> holder.pid() == child.pid())
                    .singleElement()
                    .extracting(Holder::state)
                    .isEqualTo(HolderState.RETIRED);
        }
    }

    @Test
    void aStoppedProcessKeepsItsSlots() {
        try (Child child = Child.start("hold", state, "jobs", 3)) {
            child.await("HOLDS");
            child.stop();
            assertThat(take(session, 1)).isEqualTo(Answer.FULL);
            child.resume();
            child.finish();
        }
    }

    @Test
    void aProcessThatIsStoppedWithTheMutexIsNotWaitedForAsLongAsABusyOne() throws Exception {
        try (Child child = Child.start("lock", state.resolve("n-jobs/table"))) {
            child.await("LOCKED");
            child.stop();
            assertThatThrownBy(() -> take(session, 1))
                    .isInstanceOf(BackendUnavailableException.class)
                    .hasMessageContaining("process " + child.pid() + ", which is stopped");
            child.resume();
            child.finish();
        }
        giveBack(session, takeOne(session));
    }

    @Test
    void whileAProcessIsStoppedWithTheMutexEveryCallEndsSoonAndThreadsDoNotPileUp() {
        try (Child child = Child.start("lock", state.resolve("n-jobs/table"))) {
            child.await("LOCKED");
            child.stop();
            long threads = threadsSoFar();
            for (int i = 0; i < 3; i++) {
                long start = System.nanoTime();
                assertThatThrownBy(() -> take(session, 1))
                        .isInstanceOf(BackendUnavailableException.class)
                        .hasMessageContaining("process " + child.pid() + ", which is stopped");
                assertThat(Duration.ofNanos(System.nanoTime() - start))
                        .isLessThan(backend.guarantees().callBound().dividedBy(6));
            }
            assertThat(threadsSoFar() - threads).isLessThan(20);
            assertThat(mutexThreads()).hasSize(1);
            child.resume();
            child.finish();
        }
        giveBack(session, takeOne(session));
        while (!mutexThreads().isEmpty()) {
            Thread.onSpinWait();
        }
    }

    /** Returns the number of the newest thread: numbers are given in turn. */
    private static long threadsSoFar() {
        return new Thread(() -> {}).getId();
    }

    private static List<Thread> mutexThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("semaphore-local-mutex"))
                .toList();
    }

    @Test
    void aWaitForTheMutexThatWasGivenUpIsTakenOverByTheNextCall() {
        try (Child child = Child.start("lock", state.resolve("n-jobs/table"));
                SemaphoreBackend hasty = Local.open(state, "timeout=200ms");
                BackendSession impatient = session(hasty, "jobs")) {
            child.await("LOCKED");
            assertThatThrownBy(() -> take(impatient, 1)).isInstanceOf(BackendUnavailableException.class);
            List<Thread> waiting = mutexThreads();
            assertThat(waiting).hasSize(1);
            CompletableFuture<Answer> patient = CompletableFuture.supplyAsync(() -> take(session, 1));
            assertThatThrownBy(() -> take(impatient, 1)).isInstanceOf(BackendUnavailableException.class);
            assertThat(mutexThreads()).isEqualTo(waiting);
            child.kill();
            assertThat(patient.join()).isInstanceOf(Answer.Granted.class);
        }
    }

    /** An interrupt would close the table, and so end all holds of this process. */
    @Test
    void theThreadThatWaitsForTheMutexIsDeafToInterrupts() {
        Hold hold = takeOne(session);
        try (Child child = Child.start("lock", state.resolve("n-jobs/table"));
                SemaphoreBackend hasty = Local.open(state, "timeout=200ms");
                BackendSession impatient = session(hasty, "jobs")) {
            child.await("LOCKED");
            assertThatThrownBy(() -> take(impatient, 1)).isInstanceOf(BackendUnavailableException.class);
            mutexThreads().forEach(Thread::interrupt);
            child.kill();
        }
        Hold second = takeOne(session);
        assertThat(session.renew(List.of(hold, second)).lost()).isEmpty();
        giveBack(session, hold, second);
    }

    @Test
    void whileTheMutexIsNotToBeHadCallsFailInTimeAndNameWhoHasIt() {
        try (Child child = Child.start("lock", state.resolve("n-jobs/table"));
                SemaphoreBackend hasty = Local.open(state, "timeout=1s");
                BackendSession impatient = session(hasty, "jobs")) {
            child.await("LOCKED");
            long start = System.nanoTime();
            assertThatThrownBy(() -> take(impatient, 1))
                    .isInstanceOf(BackendUnavailableException.class)
                    .hasMessageContaining("process " + child.pid());
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(1));
            child.kill();
        }
        giveBack(session, takeOne(session));
    }

    @Test
    void anExchangeIsStartedOnlyWhereNobodyHasTheMutex() throws Exception {
        ExchangeRequest request = new ExchangeRequest(List.of(), List.of(1), 1, false);
        try (Child child = Child.start("lock", state.resolve("n-jobs/table"))) {
            child.await("LOCKED");
            assertThat(session.start(request)).isNull();
            child.stop();
            assertThat(session.start(request)).isNull();
            child.resume();
            child.finish();
        }
        CompletionStage<ExchangeResult> started = Objects.requireNonNull(session.start(request));
        assertThat(started.toCompletableFuture()).isDone();
        Answer answer = started.toCompletableFuture().getNow(null).answers().get(0);
        giveBack(session, ((Answer.Granted) answer).holds().get(0));
    }

    @Test
    void theEndOfAWatchWaitsForNobodyAndIsSeenByOtherProcesses() throws Exception {
        session.watch(() -> {}).close();
        Path mutex = state.resolve("n-jobs/table");
        long before = ownLocks(mutex);
        BackendSession.Watch watch = session.watch(() -> {});
        assertThat(ownLocks(mutex)).isGreaterThan(before);
        try (Child child = Child.start("lock", mutex)) {
            child.await("LOCKED");
            child.stop();
            long start = System.nanoTime();
            watch.close();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMillis(500));
            assertThat(ownLocks(mutex)).isEqualTo(before);
            child.kill();
        }
    }

    @Test
    void aThreadThatWaitsForTheMutexTakesBackTheSignOfAWatchThatEndedMeanwhile() throws Exception {
        giveBack(session, takeOne(session));
        Path mutex = state.resolve("n-jobs/table");
        long before = ownLocks(mutex);
        BackendSession.Watch watch = session.watch(() -> {});
        try (Child child = Child.start("lock", mutex)) {
            child.await("LOCKED");
            CompletableFuture<Answer> waiting = CompletableFuture.supplyAsync(() -> take(session, 1));
            while (mutexThreads().isEmpty()) {
                Thread.onSpinWait();
            }
            watch.close();
            child.finish();
            assertThat(waiting.join()).isInstanceOf(Answer.Granted.class);
        }
        assertThat(ownLocks(mutex)).isEqualTo(before);
    }

    @Test
    void aGrantIsTheHoldersAloneAlsoAfterSomethingInItsProcessHasReadTheTable() throws Exception {
        List<Hold> holds = takeHolds(session, 3);
        dropOwnLocks(state.resolve("n-jobs/table"));
        try (Child child = Child.start("hold", state, "jobs", 3)) {
            child.await("HOLDS");
            assertThat(session.renew(holds).lost()).containsExactlyInAnyOrderElementsOf(holds);
            child.finish();
        }
        takeOne(session);
        try (Child child = Child.start("count", state, "jobs")) {
            assertThat(child.await("FREE")).isEqualTo("2");
            child.finish();
        }
    }

    @Test
    void theNextGrantProtectsAllHoldsOfAProcessThatHasReadTheTable() throws Exception {
        List<Hold> holds = takeHolds(session, 2);
        dropOwnLocks(state.resolve("n-jobs/table"));
        takeOne(session);
        try (Child child = Child.start("count", state, "jobs")) {
            assertThat(child.await("FREE")).isEqualTo("0");
            child.finish();
        }
        assertThat(session.renew(holds).lost()).isEmpty();
    }

    @Test
    void aWaiterShowsItsSignAgainAfterSomethingInItsProcessHasReadTheTable() throws Exception {
        Path table = state.resolve("n-jobs/table");
        BackendSession.Watch watch = session.watch(() -> {});
        long signs = ownLocks(table);
        assertThat(signs).isPositive();
        dropOwnLocks(table);
        assertThat(take(session, 4)).isInstanceOf(Answer.ExceedsLimit.class);
        assertThat(ownLocks(table)).isEqualTo(signs);
        watch.close();
    }

    /** Reads a file, as an agent or a backup in this process may do, whose locks of the file the operating system then drops. */
    private static void dropOwnLocks(Path file) throws IOException {
        Files.readAllBytes(file);
        assertThat(ownLocks(file)).isZero();
    }

    /** Counts what this process has locked of a file, or waits for. */
    static long ownLocks(Path file) throws IOException {
        String inode = ":" + Files.getAttribute(file, "unix:ino");
        String pid = Long.toString(ProcessHandle.current().pid());
        return Files.readAllLines(Path.of("/proc/locks")).stream()
                .map(line -> List.of(line.strip().split("\\s+")))
                .filter(parts -> parts.contains(pid) && parts.stream().anyMatch(part -> part.endsWith(inode)))
                .count();
    }

    @Test
    void neverTwoInASlotWhateverIsKilled() {
        Path shared = directory.resolve("map");
        HolderMap map = HolderMap.open(shared);
        Random random = new Random();
        List<Child> children = new ArrayList<>();
        try {
            for (int i = 0; i < 3; i++) {
                children.add(Child.start("churn", state, "jobs", shared));
            }
            for (int i = 0; i < 12; i++) {
                Child victim = children.remove(random.nextInt(children.size()));
                victim.await("READY");
                long before = map.grants();
                while (map.grants() < before + 100 + random.nextInt(100)) {
                    Thread.onSpinWait();
                }
                victim.kill();
                children.add(Child.start("churn", state, "jobs", shared));
                assertThat(admin.describe("jobs").orElseThrow().limit()).isEqualTo(3);
            }
            children.forEach(Child::finish);
        } finally {
            children.forEach(Child::close);
        }
        List<Hold> all = takeHolds(session, 3);
        all.forEach(hold -> map.enter(hold.slot(), hold.epoch(), hold.lastEpoch()));
        assertThat(take(session, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void administrationThatIsKilledAnywhereCanBeRepeated() throws Exception {
        Random random = new Random();
        for (int i = 0; i < 8; i++) {
            try (Child child = Child.start("administer", state)) {
                child.await("READY");
                Thread.sleep(random.nextInt(150));
                child.kill();
            }
            admin.describe("shaky").ifPresent(shown -> assertThat(shown.limit()).isBetween(1, 5));
            if (!admin.create(
                    "shaky", admin.describe("shaky").map(shown -> shown.limit()).orElse(4))) {
                admin.resize("shaky", 4);
            }
            try (BackendSession shaky = session(backend, "shaky")) {
                assertThat(takeHolds(shaky, 4)).extracting(Hold::slot).containsExactlyInAnyOrder(1, 2, 3, 4);
                assertThat(take(shaky, 1)).isEqualTo(Answer.FULL);
            }
            assertThat(admin.destroy("shaky")).isTrue();
            assertThat(state.resolve("n-shaky")).doesNotExist();
        }
        try (Stream<Path> left = Files.list(state)) {
            assertThat(left.map(file -> file.getFileName().toString()))
                    .containsExactlyInAnyOrder("epochs", "format", "mutex", "n-jobs");
        }
    }
}
