package io.github.distributedsemaphore.local;

import static io.github.distributedsemaphore.local.Local.giveBack;
import static io.github.distributedsemaphore.local.Local.session;
import static io.github.distributedsemaphore.local.Local.take;
import static io.github.distributedsemaphore.local.Local.takeHolds;
import static io.github.distributedsemaphore.local.Local.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Stored state that is damaged, foreign, of a later version, or taken away under a holder. */
class StoredStateTest {
    @TempDir
    Path directory;

    private SemaphoreBackend backend;
    private BackendAdmin admin;
    private BackendSession session;
    private Path jobs;

    @BeforeEach
    void open() {
        backend = Local.open(directory);
        admin = backend.admin();
        admin.create("jobs", 2);
        admin.create("others", 1);
        session = session(backend, "jobs");
        jobs = directory.resolve("n-jobs");
    }

    @AfterEach
    void close() {
        session.close();
        backend.close();
        assertThat(LockTable.openSlots()).isZero();
    }

    private void othersWork() {
        try (BackendSession others = session(backend, "others")) {
            giveBack(others, takeOne(others));
        }
    }

    private static void deleteAll(Path top) throws IOException {
        try (Stream<Path> files = Files.walk(top)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "garbage",
                "\u0000\u0001\u001b[31m",
                "distributed-semaphore limit 1\nlimit=2\n",
                "distributed-semaphore limit 1\nlimit=0\nepochs=1\nboot=\n",
                "distributed-semaphore limit 1\nlimit=10001\nepochs=1\nboot=\n",
                "distributed-semaphore limit 1\nlimit=2\nepochs=1\nboot=x",
                "distributed-semaphore limit 2\nlimit=2\nepochs=1\nboot=\n",
            })
    void aDamagedLimitIsRefusedByAllAndNotOverwritten(String content) throws IOException {
        Hold hold = takeOne(session);
        Path limit = jobs.resolve("limit");
        Files.writeString(limit, content);

        assertThatThrownBy(() -> take(session, 1))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining(limit.toString())
                .hasMessageContaining("expected 'distributed-semaphore limit 1'")
                .hasMessageContaining("destroy");
        assertThatThrownBy(() -> admin.create("jobs", 2)).isInstanceOf(IncompatibleStateException.class);
        assertThatThrownBy(() -> admin.resize("jobs", 3)).isInstanceOf(IncompatibleStateException.class);
        assertThatThrownBy(() -> admin.describe("jobs")).isInstanceOf(IncompatibleStateException.class);
        assertThat(limit).hasContent(content);
        othersWork();

        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(admin.destroy("jobs")).isTrue();
        assertThat(jobs).doesNotExist();
        admin.create("jobs", 2);
        assertThat(takeHolds(session, 2)).hasSize(2);
    }

    @Test
    void directoriesInPlaceOfFilesAreRefused() throws IOException {
        for (String name : List.of("limit", "mutex", "owners", "slot-1")) {
            Path file = jobs.resolve(name);
            Path aside = directory.resolve("aside");
            Files.move(file, aside);
            Files.createDirectory(file);
            Files.createFile(file.resolve("precious"));

            assertThatThrownBy(() -> {
                        try (BackendSession fresh = session(backend, "jobs")) {
                            take(fresh, 2);
                        }
                    })
                    .isInstanceOf(IncompatibleStateException.class)
                    .hasMessageContaining(file.toString());
            assertThat(file.resolve("precious")).exists();
            othersWork();
            deleteAll(file);
            Files.move(aside, file);
        }
        assertThat(takeHolds(session, 2)).hasSize(2);
    }

    @Test
    void aFileInPlaceOfTheDirectoryIsRefused() throws IOException {
        Path file = directory.resolve("n-taken");
        Files.writeString(file, "mine");
        try (BackendSession taken = session(backend, "taken")) {
            assertThatThrownBy(() -> take(taken, 1))
                    .isInstanceOf(IncompatibleStateException.class)
                    .hasMessageContaining(file.toString());
        }
        assertThatThrownBy(() -> admin.create("taken", 1)).isInstanceOf(IncompatibleStateException.class);
        assertThatThrownBy(() -> admin.destroy("taken")).isInstanceOf(IncompatibleStateException.class);
        assertThat(file).hasContent("mine");
    }

    @Test
    void aDamagedEpochCounterRefusesWhatNeedsIt() throws IOException {
        Files.writeString(directory.resolve("epochs"), "17");
        assertThatThrownBy(() -> admin.create("new", 1))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("epochs");
        assertThat(takeHolds(session, 2)).hasSize(2);
        assertThat(admin.names()).doesNotContain("new");
    }

    @Test
    void aDirectoryOfALaterVersionIsRefused() throws IOException {
        Path later = directory.resolve("later");
        try (SemaphoreBackend now = Local.open(later)) {
            now.ping();
        }
        Files.writeString(later.resolve("format"), "distributed-semaphore format 2\n");
        try (SemaphoreBackend backend = Local.open(later);
                BackendSession session = Local.session(backend, "jobs")) {
            List<ThrowableAssert.ThrowingCallable> calls = List.of(
                    () -> take(session, 1),
                    backend::ping,
                    () -> backend.admin().create("jobs", 1),
                    () -> backend.admin().names());
            for (ThrowableAssert.ThrowingCallable call : calls) {
                assertThatThrownBy(call)
                        .isInstanceOf(IncompatibleStateException.class)
                        .hasMessageContaining("format 2");
            }
        }
        assertThat(LockTable.STATES.size()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "distributed-semaphore slot 1\n", "noise"})
    void aDamagedSlotRecordNeverSetsEpochsBack(String content) throws IOException {
        Hold before = takeOne(session);
        giveBack(session, before);
        Files.writeString(SlotFile.path(jobs, 1), content);
        Hold after = takeOne(session);
        assertThat(after.slot()).isEqualTo(1);
        assertThat(after.epoch()).isGreaterThan(before.lastEpoch());
    }

    @Test
    void aSlotFileThatWasDeletedNeverSetsEpochsBack() throws IOException {
        Hold before = takeOne(session);
        giveBack(session, before);
        Files.delete(SlotFile.path(jobs, 1));
        assertThat(takeOne(session).epoch()).isGreaterThan(before.lastEpoch());
    }

    @Test
    void aGrantThatHasToDrawEpochsIsNotStartedAndLeavesNothing() throws IOException {
        Hold hold = takeOne(session);
        Files.writeString(SlotFile.path(jobs, 3 - hold.slot()), "noise");
        ExchangeRequest both = new ExchangeRequest(List.of(hold), List.of(2), 1, false);
        assertThat(session.start(both)).isNull();
        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
        assertThat(admin.describe("jobs").orElseThrow().free()).isEqualTo(1);
        assertThat(session.exchange(both).answers().get(0)).isInstanceOf(Answer.Granted.class);
    }

    @Test
    void epochsRiseOverACrashOfTheMachineThatLostTheRecords() throws IOException {
        byte[] old = Files.readAllBytes(SlotFile.path(jobs, 1));
        Hold before = takeOne(session);
        giveBack(session, before);
        Files.write(SlotFile.path(jobs, 1), old);
        String limit = Files.readString(jobs.resolve("limit"));
        Files.writeString(
                jobs.resolve("limit"), limit.replaceAll("boot=.*", "boot=00000000-0000-0000-0000-000000000000"));
        assertThat(takeOne(session).epoch()).isGreaterThan(before.lastEpoch());
    }

    @Test
    void epochsRiseWhenABlockIsUsedUpAlsoBeyond53Bits() throws IOException {
        Files.writeString(directory.resolve("epochs"), "distributed-semaphore epochs 1\nnext=" + (1L << 33) + "\n");
        admin.create("far", 1);
        try (BackendSession far = session(backend, "far")) {
            long last = 0;
            for (int i = 0; i < 40; i++) {
                Hold hold = Local.takeRun(far, 1 << 16);
                assertThat(hold.epoch()).isGreaterThan(last);
                last = hold.lastEpoch();
                giveBack(far, hold);
            }
            assertThat(last).isGreaterThan(1L << 53);
        }
    }

    @Test
    void withoutItsIndexTheLocksStillCount() throws IOException {
        takeOne(session);
        Files.delete(jobs.resolve("owners"));
        try (BackendSession rival = session(backend, "jobs")) {
            takeOne(rival);
            assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
        }
    }

    @Test
    void aHolderNoticesThatItsSlotFileIsGoneOrAnother() throws IOException {
        List<Hold> holds = takeHolds(session, 2);
        Files.delete(SlotFile.path(jobs, 1));
        Files.move(SlotFile.path(jobs, 2), directory.resolve("aside"));
        Files.copy(directory.resolve("aside"), SlotFile.path(jobs, 2));

        assertThat(session.renew(holds).lost()).containsExactlyInAnyOrderElementsOf(holds);
        assertThat(session.check(holds.get(0))).isEqualTo(HoldState.LOST);
        assertThat(giveBack(session, holds.get(1)).lost()).containsExactly(holds.get(1));
    }

    @Test
    void aHolderNoticesThatTheWholeStateIsGone() throws IOException {
        Hold hold = takeOne(session);
        deleteAll(directory);
        assertThat(session.check(hold)).isEqualTo(HoldState.LOST);
        assertThat(take(session, 1)).isEqualTo(Answer.MISSING);
        assertThat(giveBack(session, hold).lost()).containsExactly(hold);
        assertThat(admin.describe("jobs")).isEmpty();
        assertThat(directory).doesNotExist();
        Files.createDirectory(directory);
    }

    @Test
    void stateMadeAnewUnderAHolderIsUsable() throws IOException {
        Hold old = takeOne(session);
        deleteAll(directory);
        try (SemaphoreBackend fresh = Local.open(directory)) {
            fresh.admin().create("jobs", 2);
            try (BackendSession rival = session(fresh, "jobs")) {
                List<Hold> holds = takeHolds(rival, 2);
                assertThat(session.check(old)).isEqualTo(HoldState.LOST);
                session.close();
                assertThat(rival.renew(holds).lost()).isEmpty();
                assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
            }
        }
    }
}
