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
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Creating, showing, resizing and destroying, also under holders. */
class AdminTest {
    @TempDir
    Path directory;

    private SemaphoreBackend backend;
    private BackendAdmin admin;
    private BackendSession session;
    private BackendSession rival;

    @BeforeEach
    void open() {
        backend = Local.openAs("worker 7", directory);
        admin = backend.admin();
        session = session(backend, "jobs");
        rival = session(backend, "jobs");
    }

    @AfterEach
    void close() {
        session.close();
        rival.close();
        backend.close();
        assertThat(LockFile.openFiles()).isZero();
        assertThat(SharedSemaphore.IN_USE.size()).isZero();
    }

    private SemaphoreDescription describe() {
        return admin.describe("jobs").orElseThrow();
    }

    private List<String> leftovers() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void createsOnceAndRefusesAnotherLimit() {
        assertThat(admin.create("jobs", 2)).isTrue();
        assertThat(admin.create("jobs", 2)).isFalse();
        assertThatThrownBy(() -> admin.create("jobs", 3))
                .isInstanceOfSatisfying(
                        LimitConflictException.class,
                        conflict -> assertThat(conflict.found()).isEqualTo(2));
        assertThat(describe().limit()).isEqualTo(2);
    }

    @Test
    void describesHoldersAndChangesNothing() {
        admin.create("jobs", 3);
        Hold hold = takeHolds(session, 2).get(1);

        SemaphoreDescription shown = describe();
        assertThat(shown.free()).isEqualTo(1);
        assertThat(shown.holders()).hasSize(2);
        Holder second = shown.holders().get(1);
        assertThat(second.slot()).isEqualTo(2);
        assertThat(second.epoch()).isEqualTo(hold.epoch());
        assertThat(second.label()).isEqualTo("worker 7");
        assertThat(second.pid()).isEqualTo(ProcessHandle.current().pid());
        assertThat(second.since()).isBetween(Instant.now().minusSeconds(60), Instant.now());
        assertThat(second.state()).isEqualTo(HolderState.HELD);
        assertThat(describe()).isEqualTo(shown);
        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
    }

    @Test
    void whatWasGivenBackIsNotShown() {
        admin.create("jobs", 3);
        giveBack(session, takeOne(session));
        assertThat(describe().holders()).isEmpty();
        assertThat(describe().free()).isEqualTo(3);
    }

    @Test
    void listsNamesInOrder() {
        List.of("zoo", "Übung", "a/b", "A", "a").forEach(name -> admin.create(name, 1));
        assertThat(admin.names()).containsExactly("A", "a", "a/b", "zoo", "Übung");
        admin.destroy("zoo");
        assertThat(admin.names()).doesNotContain("zoo");
    }

    @Test
    void growsByExactlyTheDifference() {
        admin.create("jobs", 1);
        takeOne(session);
        admin.resize("jobs", 3);
        assertThat(takeHolds(rival, 2)).extracting(Hold::slot).containsExactly(2, 3);
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void shrinksUnderHoldersWhoKeepTheirSlots() throws IOException {
        admin.create("jobs", 3);
        List<Hold> holds = takeHolds(session, 3);
        admin.resize("jobs", 1);

        assertThat(describe().limit()).isEqualTo(1);
        assertThat(describe().free()).isZero();
        assertThat(describe().holders())
                .extracting(Holder::state)
                .containsExactly(HolderState.HELD, HolderState.RETIRED, HolderState.RETIRED);
        assertThat(admin.retiredHolders("jobs")).isEqualTo(2);
        assertThat(session.renew(holds).retired()).containsExactlyInAnyOrder(holds.get(1), holds.get(2));
        assertThat(session.check(holds.get(2))).isEqualTo(HoldState.RETIRED);
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);

        giveBack(session, holds.get(1), holds.get(2));
        assertThat(admin.retiredHolders("jobs")).isZero();
        assertThat(describe().holders()).extracting(Holder::slot).containsExactly(1);
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
        giveBack(session, holds.get(0));
        assertThat(takeOne(rival).slot()).isEqualTo(1);
    }

    @Test
    void aRetiredHolderOfASlotThatComesBackHoldsItAsBefore() {
        admin.create("jobs", 2);
        List<Hold> holds = takeHolds(session, 2);
        admin.resize("jobs", 1);
        admin.resize("jobs", 2);
        assertThat(session.check(holds.get(1))).isEqualTo(HoldState.HELD);
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
        assertThat(describe().holders()).hasSize(2);
    }

    @Test
    void epochsGoOnRisingInASlotThatWasRemovedAndCameBack() {
        admin.create("jobs", 2);
        Hold before = takeHolds(session, 2).get(1);
        giveBack(session, before);
        admin.resize("jobs", 1);
        admin.resize("jobs", 2);
        assertThat(takeOne(rival).epoch()).isGreaterThan(before.lastEpoch());
    }

    @Test
    void resizingWhatIsNotThereSaysSo() {
        assertThatThrownBy(() -> admin.resize("jobs", 2))
                .isInstanceOf(NoSuchSemaphoreException.class)
                .hasMessageContaining("'jobs'");
        assertThat(directory.resolve("n-jobs")).doesNotExist();
    }

    @Test
    void destroyingAnUnheldSemaphoreLeavesNothing() throws IOException {
        List<String> before = leftovers();
        admin.create("jobs", 3);
        giveBack(session, takeOne(session));
        assertThat(admin.destroy("jobs")).isTrue();
        assertThat(admin.destroy("jobs")).isFalse();
        assertThat(admin.describe("jobs")).isEmpty();
        assertThat(take(session, 1)).isEqualTo(Answer.MISSING);
        assertThat(leftovers()).containsAll(before).containsExactly("epochs", "format", "mutex");
    }

    @Test
    void destroyedUnderAHolderTheSlotIsNotGrantedBeforeItIsReleased() {
        admin.create("jobs", 2);
        Hold old = takeOne(session);
        assertThat(admin.destroy("jobs")).isTrue();
        assertThat(admin.retiredHolders("jobs")).isEqualTo(1);
        assertThat(session.check(old)).isEqualTo(HoldState.RETIRED);
        assertThat(take(rival, 1)).isEqualTo(Answer.MISSING);
        assertThat(admin.describe("jobs")).isEmpty();

        admin.create("jobs", 2);
        assertThat(takeOne(rival).slot()).isEqualTo(2);
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
        assertThat(giveBack(session, old).lost()).isEmpty();
        Hold next = takeOne(rival);
        assertThat(next.slot()).isEqualTo(1);
        assertThat(next.epoch()).isGreaterThan(old.lastEpoch());
    }

    @Test
    void theLastHolderOfADestroyedSemaphoreLeavesNothing() {
        admin.create("jobs", 2);
        List<Hold> holds = takeHolds(session, 2);
        admin.destroy("jobs");
        giveBack(session, holds.get(0));
        assertThat(directory.resolve("n-jobs")).exists();
        giveBack(session, holds.get(1));
        assertThat(directory.resolve("n-jobs")).doesNotExist();
        assertThat(admin.retiredHolders("jobs")).isZero();
    }

    @Test
    void epochsGoOnRisingOverDestroyAndCreate() {
        long highest = -1;
        for (int i = 0; i < 5; i++) {
            admin.create("jobs", 1);
            Hold hold = takeOne(session);
            assertThat(hold.epoch()).isGreaterThan(highest);
            highest = hold.lastEpoch();
            giveBack(session, hold);
            admin.destroy("jobs");
        }
    }

    @Test
    void theHighestLimitCanBeHeldAndHoldsOpenNoFiles() {
        admin.create("jobs", SlotTable.MAX_SLOTS);
        takeOne(rival);
        int open = LockFile.openFiles();
        assertThat(takeHolds(session, SlotTable.MAX_SLOTS - 1)).hasSize(SlotTable.MAX_SLOTS - 1);
        assertThat(LockFile.openFiles()).isEqualTo(open);
        assertThat(describe().free()).isZero();
        session.close();
        assertThat(describe().free()).isEqualTo(SlotTable.MAX_SLOTS - 1);
        rival.close();
        admin.destroy("jobs");
        assertThat(directory.resolve("n-jobs")).doesNotExist();
    }

    /** As on a disk that is full or read-only. */
    @ParameterizedTest
    @ValueSource(strings = {"epochs.new", "n-jobs/limit.new"})
    void aChangeThatCouldNotBeWrittenIsNotDone(String file) throws IOException {
        admin.create("jobs", 2);
        Files.createDirectories(directory.resolve(file).resolve("in the way"));

        assertThatThrownBy(() -> admin.resize("jobs", 3))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("nothing was done")
                .hasMessageContaining(file);
        assertThat(describe().limit()).isEqualTo(2);
    }

    @Test
    void aSemaphoreWhoseEpochsCouldNotBeDrawnIsNotCreated() throws IOException {
        Files.createDirectories(directory.resolve("epochs.new/in the way"));

        assertThatThrownBy(() -> admin.create("jobs", 2)).isInstanceOf(BackendUnavailableException.class);
        assertThat(admin.describe("jobs")).isEmpty();
    }

    @Test
    void aChangeThatAStoppedProcessHoldsUpIsNotDone() throws IOException {
        admin.create("jobs", 2);
        try (Child child = Child.start("lock", directory.resolve("mutex"))) {
            child.await("LOCKED");
            child.stop();
            assertThatThrownBy(() -> admin.resize("jobs", 3))
                    .isInstanceOf(BackendUnavailableException.class)
                    .hasMessageContaining("process " + child.pid() + ", which is stopped");
            assertThat(describe().limit()).isEqualTo(2);
            child.resume();
            child.finish();
        }
    }

    @Test
    void whatIsBrokenOffAfterTheSemaphoreIsGoneHasNoKnownOutcome() throws IOException {
        admin.create("jobs", 2);
        Files.createDirectories(directory.resolve("n-jobs/released/in the way"));

        assertThatThrownBy(() -> admin.destroy("jobs")).isInstanceOf(OutcomeUnknownException.class);
        assertThat(admin.describe("jobs")).isEmpty();
    }

    @Test
    void whatCannotBeClearedUpHindersNoReleaseAndNoRefusal() throws IOException {
        admin.create("jobs", 2);
        Hold hold = takeOne(session);
        admin.destroy("jobs");
        Path inTheWay = Files.createDirectories(directory.resolve("n-jobs/released/in the way"));

        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(take(rival, 1)).isEqualTo(Answer.MISSING);
        Files.delete(inTheWay);
        Files.delete(inTheWay.getParent());
        assertThat(take(rival, 1)).isEqualTo(Answer.MISSING);
        assertThat(directory.resolve("n-jobs")).doesNotExist();
    }
}
