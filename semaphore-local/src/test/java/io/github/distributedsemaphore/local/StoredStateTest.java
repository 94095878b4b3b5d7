package io.github.distributedsemaphore.local;

import static io.github.distributedsemaphore.local.Local.giveBack;
import static io.github.distributedsemaphore.local.Local.session;
import static io.github.distributedsemaphore.local.Local.take;
import static io.github.distributedsemaphore.local.Local.takeHolds;
import static io.github.distributedsemaphore.local.Local.takeOne;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
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
        assertThat(LockFile.openFiles()).isZero();
    }

    /** A file that appears between the attempt to open it and the look for the reason once made a creation fail, at load. */
    @Test
    void aFileThatIsMadeMeanwhileIsReadOrMissingButNoError() throws Exception {
        Path file = directory.resolve("appears");
        AtomicBoolean over = new AtomicBoolean();
        FutureTask<Void> maker = new FutureTask<>(() -> {
            while (!over.get()) {
                Files.writeString(file, "distributed-semaphore it 1\n");
                Files.delete(file);
            }
            return null;
        });
        new Thread(maker, "maker").start();
        try {
            for (int i = 0; i < 20_000; i++) {
                try (RandomAccessFile open = PrivateFiles.open(file, "r")) {
                    assertThat(open.getFilePointer()).isZero();
                } catch (NoSuchFileException e) {
                    assertThat(e.getFile()).isEqualTo(file.toString());
                }
            }
        } finally {
            over.set(true);
            maker.get();
        }
    }

    /** All wants were answered with MISSING then, although the semaphore was there. */
    @Test
    void aTableThatIsDeletedWhileItIsOpenedIsMadeAgain() throws Exception {
        Path file = directory.resolve("table");
        AtomicInteger round = new AtomicInteger();
        AtomicBoolean over = new AtomicBoolean();
        FutureTask<Void> deleter = new FutureTask<>(() -> {
            int last = 0;
            while (!over.get()) {
                int current = round.get();
                if (current != last && Files.deleteIfExists(file)) {
                    last = current;
                }
            }
            return null;
        });
        new Thread(deleter, "deleter").start();
        try {
            for (int i = 1; i <= 5_000; i++) {
                round.set(i);
                LockFile.open(file).close();
            }
        } finally {
            over.set(true);
            deleter.get();
        }
    }

    /** As when an operator takes away a right for a moment. */
    @Test
    void theMutexIsGivenBackIfItsFileCannotBeLookedAt() throws IOException {
        Hold hold = takeOne(session);
        Path aside = directory.resolve("aside");
        Files.move(jobs, aside);
        // A link to itself: newer JDKs take a file in place of a directory for one that is missing.
        Files.createSymbolicLink(jobs, jobs);
        assertThatThrownBy(() -> take(session, 1)).isInstanceOf(SemaphoreException.class);
        Files.delete(jobs);
        Files.move(aside, jobs);

        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(takeHolds(session, 2)).hasSize(2);
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
        for (String name : List.of("limit", "table")) {
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
    void aTableThatIsALinkToNowhereIsRefusedByAll() throws IOException {
        Path table = jobs.resolve("table");
        Files.delete(jobs.resolve("limit"));
        Files.delete(table);
        Files.createSymbolicLink(table, directory.resolve("nowhere"));

        assertTimeoutPreemptively(Duration.ofSeconds(30), () -> {
            for (ThrowableAssert.ThrowingCallable call : List.<ThrowableAssert.ThrowingCallable>of(
                    () -> admin.create("jobs", 2), () -> admin.destroy("jobs"), () -> take(session, 1))) {
                assertThatThrownBy(call)
                        .isInstanceOf(IncompatibleStateException.class)
                        .hasMessageContaining(table.toString());
            }
        });
        assertThat(table).isSymbolicLink();
        othersWork();
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

    /** A file is written beside the one that it takes the place of, and a process may be killed in between. */
    @Test
    void whatAKilledProcessLeftHalfWrittenStopsNoLaterChange() throws IOException {
        Files.writeString(jobs.resolve("limit.new"), "distributed-sem");
        Files.writeString(directory.resolve("epochs.new"), "");
        admin.resize("jobs", 3);
        assertThat(admin.create("more", 1)).isTrue();
        assertThat(admin.describe("jobs").orElseThrow().limit()).isEqualTo(3);
        try (BackendSession more = session(backend, "more")) {
            assertThat(takeOne(more).epoch()).isPositive();
        }
    }

    @Test
    void aDirectoryOfALaterVersionIsRefused() throws IOException {
        Path later = directory.resolve("later");
        try (SemaphoreBackend now = Local.open(later)) {
            now.ping();
        }
        Files.writeString(later.resolve("format"), "distributed-semaphore format 3\n");
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
                        .hasMessageContaining("format 3");
            }
        }
        assertThat(StateDirectory.IN_USE.size()).isEqualTo(1);
    }

    @Test
    void aDirectoryOfTheFirstFormatIsRefusedAndTheWayOnKeepsFencesRising() throws IOException {
        Path old = directory.resolve("old");
        Files.createDirectories(old.resolve("n-jobs"));
        Files.writeString(old.resolve("format"), "distributed-semaphore format 1\n");
        Files.writeString(old.resolve("epochs"), "distributed-semaphore epochs 1\nnext=" + (1L << 33) + "\n");
        Files.writeString(
                old.resolve("n-jobs/limit"), "distributed-semaphore limit 1\nlimit=2\nepochs=1048576\nboot=\n");
        try (SemaphoreBackend refused = Local.open(old)) {
            assertThatThrownBy(() -> refused.admin().describe("jobs"))
                    .isInstanceOf(IncompatibleStateException.class)
                    .hasMessageContaining("format 1")
                    .hasMessageContaining("delete everything in the directory but the file 'epochs'")
                    .hasMessageContaining("create the semaphores again");
        }
        deleteAll(old.resolve("n-jobs"));
        Files.delete(old.resolve("format"));
        try (SemaphoreBackend moved = Local.open(old)) {
            moved.admin().create("jobs", 2);
            try (BackendSession jobs = session(moved, "jobs")) {
                assertThat(takeOne(jobs).epoch()).isGreaterThanOrEqualTo(1L << 53);
            }
        }
    }

    /** Writes into the table. Another descriptor than the backend's own would end its locks when it is closed. */
    private void write(long at, byte[] bytes) throws IOException {
        LockFile table = LockFile.open(jobs.resolve("table"));
        try {
            table.write(at, bytes);
        } finally {
            table.close();
        }
    }

    private void writeEntry(int slot, byte[] bytes) throws IOException {
        write(slot * 32L, bytes);
    }

    @Test
    void aDamagedEntryNeverSetsEpochsBack() throws IOException {
        byte[] noise = "noise, as long as an entry is.....".substring(0, 32).getBytes(UTF_8);
        for (byte[] content : List.of(new byte[32], noise, new byte[20])) {
            Hold[] before = takeHolds(session, 2).toArray(Hold[]::new);
            giveBack(session, before);
            writeEntry(1, content);
            Hold[] after = takeHolds(session, 2).toArray(Hold[]::new);
            long last = before[0].slot() == 1 ? before[0].lastEpoch() : before[1].lastEpoch();
            assertThat(after)
                    .filteredOn(hold -> hold.slot() == 1)
                    .singleElement()
                    .satisfies(hold -> assertThat(hold.epoch()).isGreaterThan(last));
            giveBack(session, after);
        }
    }

    @Test
    void aTableThatWasDeletedOrOverwrittenNeverSetsEpochsBack() throws IOException {
        Hold before = takeOne(session);
        giveBack(session, before);
        Files.delete(jobs.resolve("table"));
        Hold between = takeOne(session);
        assertThat(between.epoch()).isGreaterThan(before.lastEpoch());
        giveBack(session, between);
        byte[] noise = new byte[1000];
        Arrays.fill(noise, (byte) -1);
        write(0, noise);
        List<Hold> after = takeHolds(session, 2);
        assertThat(after.get(0).epoch()).isGreaterThan(between.lastEpoch());
        assertThat(admin.describe("jobs").orElseThrow().holders()).hasSize(2);
    }

    @Test
    void aGrantThatHasToDrawEpochsIsNotStartedAndLeavesNothing() throws IOException {
        Hold hold = takeOne(session);
        writeEntry(3 - hold.slot(), new byte[32]);
        ExchangeRequest both = new ExchangeRequest(List.of(hold), List.of(2), 1, false);
        assertThat(session.start(both)).isNull();
        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
        assertThat(admin.describe("jobs").orElseThrow().free()).isEqualTo(1);
        assertThat(session.exchange(both).answers().get(0)).isInstanceOf(Answer.Granted.class);
    }

    @Test
    void epochsRiseOverACrashOfTheMachineThatLostEntries() throws IOException {
        Hold before = takeOne(session);
        giveBack(session, before);
        LockFile table = LockFile.open(jobs.resolve("table"));
        byte[] old = table.read(32, 32);
        Hold lost = takeOne(session);
        giveBack(session, lost);
        table.write(32, old);
        table.close();
        String limit = Files.readString(jobs.resolve("limit"));
        Files.writeString(
                jobs.resolve("limit"), limit.replaceAll("boot=.*", "boot=00000000-0000-0000-0000-000000000000"));
        assertThat(takeOne(session).epoch()).isGreaterThan(lost.lastEpoch());
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
    void epochsRiseOverARemovalOfTheWholeStateHoweverManyWereUsed() throws IOException {
        Path state = directory.resolve("state");
        long start = System.nanoTime();
        long last;
        try (SemaphoreBackend before = Local.open(state)) {
            last = useTenBlocks(before);
        }
        deleteAll(state);
        // Ten blocks are what the clock counts in a twenty-fifth of a second, in which a quick disk may have drawn
        // them.
        await().until(() -> System.nanoTime() - start > Duration.ofMillis(100).toNanos());
        try (SemaphoreBackend after = Local.open(state)) {
            after.admin().create("far", 1);
            try (BackendSession far = session(after, "far")) {
                assertThat(takeOne(far).epoch()).isGreaterThan(last);
            }
        }
    }

    private static long useTenBlocks(SemaphoreBackend backend) {
        backend.admin().create("far", 1);
        long last = 0;
        try (BackendSession far = session(backend, "far")) {
            for (int i = 0; i < 160; i++) {
                Hold hold = Local.takeRun(far, 1 << 16);
                last = hold.lastEpoch();
                giveBack(far, hold);
            }
        }
        return last;
    }

    private void storeNextBlock(long next) throws IOException {
        Files.writeString(directory.resolve("epochs"), "distributed-semaphore epochs 1\nnext=" + next + "\n");
    }

    /** All epochs of a block have to be of 18 digits at most, as far as files are read. */
    @Test
    void anOperatorCanRaiseTheNextBlockToTheHighestThatIsReadAndNoFurther() throws IOException {
        long highest = 953_674_316_405L;
        storeNextBlock(highest + 1);
        assertThatThrownBy(() -> admin.create("far", 1))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("next is at most " + highest);
        storeNextBlock(highest);
        admin.create("far", 1);
        try (BackendSession far = session(backend, "far")) {
            assertThat(takeOne(far).lastEpoch()).isBetween(highest << 20, 999_999_999_999_999_999L);
        }
        assertThat(admin.describe("far").orElseThrow().limit()).isEqualTo(1);
    }

    /** Each draw waits for the disk four times. */
    @Test
    void oneBlockOfEpochsIsDrawnForAllSlotsOfALostTable() throws IOException {
        admin.resize("jobs", 10);
        storeNextBlock(1L << 33);
        Files.delete(jobs.resolve("table"));

        assertThat(takeHolds(session, 10)).extracting(Hold::epoch).containsOnly(1L << 53);
        assertThat(directory.resolve("epochs")).content().contains("next=" + ((1L << 33) + 1) + "\n");
    }

    @Test
    void aHolderNoticesThatItsEntryIsGoneOrAnothers() throws IOException {
        List<Hold> holds = takeHolds(session, 2);
        writeEntry(1, new byte[32]);
        assertThat(session.renew(holds).lost()).containsExactly(holds.get(0));
        assertThat(session.check(holds.get(1))).isEqualTo(HoldState.HELD);
        try (BackendSession rival = session(backend, "jobs")) {
            Hold next = takeOne(rival);
            assertThat(session.check(holds.get(0))).isEqualTo(HoldState.LOST);
            assertThat(giveBack(session, holds.get(0)).lost()).containsExactly(holds.get(0));
            assertThat(rival.check(next)).isEqualTo(HoldState.HELD);
            assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
        }
    }

    @Test
    void aHolderNoticesThatItsTableIsAnother() throws IOException {
        List<Hold> holds = takeHolds(session, 2);
        Files.move(jobs.resolve("table"), directory.resolve("aside"));
        assertThat(session.renew(holds).lost()).containsExactlyInAnyOrderElementsOf(holds);
        assertThat(giveBack(session, holds.get(1)).lost()).containsExactly(holds.get(1));
        List<Hold> anew = takeHolds(session, 2);
        assertThat(session.renew(anew).lost()).isEmpty();
        assertThat(session.check(holds.get(0))).isEqualTo(HoldState.LOST);
    }

    @Test
    void aTableThatWasAwayAndCameBackHoldsNothingForThoseWhoLostIt() throws IOException {
        List<Hold> holds = takeHolds(session, 2);
        Files.move(jobs.resolve("table"), directory.resolve("aside"));
        assertThat(session.renew(holds).lost()).containsExactlyInAnyOrderElementsOf(holds);
        Files.move(directory.resolve("aside"), jobs.resolve("table"));
        try (BackendSession rival = session(backend, "jobs")) {
            assertThat(takeHolds(rival, 2)).hasSize(2);
        }
    }

    @Test
    void aGrantInATableThatCameBackDoesNotBringBackWhatWasLostThere() throws IOException {
        List<Hold> holds = takeHolds(session, 2);
        Files.move(jobs.resolve("table"), directory.resolve("aside"));
        assertThat(session.renew(holds).lost()).containsExactlyInAnyOrderElementsOf(holds);
        Files.move(directory.resolve("aside"), jobs.resolve("table"));
        Hold anew = takeOne(session);
        try (BackendSession rival = session(backend, "jobs")) {
            assertThat(takeOne(rival).slot()).isEqualTo(3 - anew.slot());
            assertThat(session.check(anew)).isEqualTo(HoldState.HELD);
            assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
        }
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
