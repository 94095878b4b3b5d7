package io.github.distributedsemaphore.local;

import static io.github.distributedsemaphore.local.Local.ask;
import static io.github.distributedsemaphore.local.Local.giveBack;
import static io.github.distributedsemaphore.local.Local.session;
import static io.github.distributedsemaphore.local.Local.take;
import static io.github.distributedsemaphore.local.Local.takeHolds;
import static io.github.distributedsemaphore.local.Local.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an exchange grants, refuses and gives back, with two clients in one process. */
class ExchangeTest {
    @TempDir
    Path directory;

    private SemaphoreBackend backend;
    private SemaphoreBackend other;
    private BackendSession session;
    private BackendSession rival;

    @BeforeEach
    void open() {
        backend = Local.open(directory.resolve("state"));
        other = Local.open(directory.resolve("state"));
        backend.admin().create("jobs", 3);
        session = session(backend, "jobs");
        rival = session(other, "jobs");
    }

    @AfterEach
    void close() {
        session.close();
        rival.close();
        backend.close();
        other.close();
        assertThat(LockFile.openFiles()).isZero();
        assertThat(SharedSemaphore.IN_USE.size()).isZero();
        assertThat(StateDirectory.IN_USE.size()).isZero();
    }

    @Test
    void grantsExactlyTheLimitOverTwoClients() {
        assertThat(takeHolds(session, 2)).extracting(Hold::slot).containsExactly(1, 2);
        assertThat(takeHolds(rival, 1)).extracting(Hold::slot).containsExactly(3);
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
        assertThat(take(session, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void servesWantsInOrderEachWholeOrNotAtAll() {
        List<Answer> answers = ask(session, 2, 2, 1, 4).answers();

        assertThat(answers.get(0)).isInstanceOf(Answer.Granted.class);
        assertThat(answers.get(1)).isEqualTo(Answer.FULL);
        assertThat(answers.get(2)).isInstanceOf(Answer.Granted.class);
        assertThat(answers.get(3)).isEqualTo(new Answer.ExceedsLimit(3));
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void aRefusedGroupLeavesEverySlotFree() {
        takeOne(rival);
        assertThat(take(session, 3)).isEqualTo(Answer.FULL);
        assertThat(takeHolds(rival, 2)).hasSize(2);
    }

    @Test
    void givesBackFirstAndMayGrantTheSameSlotUnderAHigherEpoch() {
        List<Hold> all = takeHolds(session, 3);
        ExchangeResult result = session.exchange(new ExchangeRequest(List.of(all.get(1)), List.of(1), 1, false));

        assertThat(result.lost()).isEmpty();
        Hold again = ((Answer.Granted) result.answers().get(0)).holds().get(0);
        assertThat(again.slot()).isEqualTo(2);
        assertThat(again.epoch()).isGreaterThan(all.get(1).lastEpoch());
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void reservesARunOfEpochsThatIsNeverGrantedAgain() {
        Hold first = ((Answer.Granted) session.exchange(new ExchangeRequest(List.of(), List.of(1), 64, false))
                        .answers()
                        .get(0))
                .holds()
                .get(0);
        assertThat(first.lastEpoch() - first.epoch()).isEqualTo(63);
        giveBack(session, first);

        Hold second = takeOne(rival);
        assertThat(second.slot()).isEqualTo(first.slot());
        assertThat(second.epoch()).isGreaterThan(first.lastEpoch());
    }

    @Test
    void givingBackTwiceTouchesNobodyElsesHold() {
        Hold hold = takeOne(session);
        assertThat(giveBack(session, hold).lost()).isEmpty();
        takeHolds(rival, 3);

        assertThat(giveBack(session, hold).lost()).containsExactly(hold);
        assertThat(take(session, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void aMissingSemaphoreIsNoFullOne() {
        try (BackendSession nowhere = session(backend, "nowhere")) {
            assertThat(take(nowhere, 1)).isEqualTo(Answer.MISSING);
        }
        assertThat(directory.resolve("state").resolve("n-nowhere")).doesNotExist();
    }

    @Test
    void validForEverAndAskedAgainSoonWhenFull() {
        ExchangeResult granted = ask(session, 3);
        assertThat(granted.validUntil()).isEqualTo(Deadline.NEVER);
        assertThat(granted.recheck()).isEqualTo(Deadline.NEVER);
        assertThat(ask(rival, 1).recheck().remaining()).isLessThan(java.time.Duration.ofSeconds(1));
    }

    @Test
    void aClosedSessionGivesEverythingBack() {
        takeHolds(session, 3);
        session.close();
        assertThat(takeHolds(rival, 3)).hasSize(3);
    }

    @Test
    void anAbortedSessionLeavesEverythingFree() {
        takeHolds(session, 3);
        session.abort();
        assertThat(takeHolds(rival, 3)).hasSize(3);
    }

    @Test
    void whatBecameOfAnExchangeIsThatItWasNotDone() {
        Hold hold = takeOne(session);
        ExchangeRequest request = new ExchangeRequest(List.of(hold), List.of(1), 1, false);
        ExchangeResult result = session.resolve(request);
        assertThat(result.answers()).containsExactly(Answer.NOT_DONE);
        assertThat(result.lost()).isEmpty();
        assertThat(takeHolds(rival, 3)).hasSize(3);
    }

    @Test
    void whatAnExchangeTookThatFailedAfterwardsGoesBack() {
        List<Hold> held = takeHolds(session, 2);
        ExchangeRequest request = new ExchangeRequest(held, List.of(1), 1, false);
        BackendSession.Watch failing = rival.watch(() -> {
            throw new IllegalStateException("a hint that fails, as a test wants it");
        });
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(IllegalStateException.class);
        failing.close();

        ExchangeResult result = session.resolve(request);
        assertThat(result.answers()).containsExactly(Answer.NOT_DONE);
        assertThat(result.lost()).isEmpty();
        assertThat(backend.admin().describe("jobs").orElseThrow().holders()).isEmpty();
    }

    @Test
    void anEndedSessionStartsNothing() {
        session.close();
        assertThat(session.start(new ExchangeRequest(List.of(), List.of(1), 1, false)))
                .isNotNull()
                .isCompletedExceptionally();
    }

    @Test
    void tellsWhetherOthersWait() {
        assertThat(ask(session, 1).othersWaiting()).isFalse();
        BackendSession.Watch waiting = session.watch(() -> {});
        assertThat(ask(session, 1).othersWaiting()).isFalse();
        assertThat(ask(rival, 1).othersWaiting()).isTrue();
        waiting.close();
        assertThat(ask(rival, 1).othersWaiting()).isFalse();
    }
}
