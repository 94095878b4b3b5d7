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
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

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
            child.signal("STOP");
            assertThat(take(session, 1)).isEqualTo(Answer.FULL);
            child.signal("CONT");
            child.finish();
        }
    }

    @Test
    void aProcessThatIsStoppedWithTheMutexIsNotWaitedForAsLongAsABusyOne() throws Exception {
        try (Child child = Child.start("lock", state.resolve("n-jobs/mutex"))) {
            child.await("LOCKED");
            child.signal("STOP");
            assertThatThrownBy(() -> take(session, 1))
                    .isInstanceOf(BackendUnavailableException.class)
                    .hasMessageContaining("process " + child.pid() + ", which is stopped");
            child.signal("CONT");
            child.finish();
        }
        giveBack(session, takeOne(session));
    }

    @Test
    void whileTheMutexIsNotToBeHadCallsFailAndNameWhoHasIt() {
        try (Child child = Child.start("lock", state.resolve("n-jobs/mutex"))) {
            child.await("LOCKED");
            assertThatThrownBy(() -> take(session, 1))
                    .isInstanceOf(BackendUnavailableException.class)
                    .hasMessageContaining("process " + child.pid());
            child.kill();
        }
        giveBack(session, takeOne(session));
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
