package io.github.distributedsemaphore.redis.worklock;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.redis.worklock.Workers.Hired;
import io.lettuce.core.SetArgs;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a worker does about each value of the key, step by step. */
class ProtocolTest {
    private final Workers workers = new Workers();

    @AfterEach
    void close() {
        workers.close();
    }

    private void assertKeptFor(Duration time) {
        assertThat(workers.left()).isBetween(time.minusSeconds(100), time);
    }

    @Test
    void theFirstDoesTheJobAndLeavesAMarkerWithAnEnd() {
        Hired first = workers.hire().says("acquired false");
        assertThat(workers.value()).isEqualTo("1");
        assertThat(workers.left()).isEqualTo(Duration.ofMillis(-1));
        first.hears("done").says("end DONE");
        assertThat(workers.value()).isEqualTo("DONE");
        assertKeptFor(SteeredWorker.RETENTION);
    }

    @Test
    void theFirstIsAlsoTheLastIfThereIsButOneAttempt() {
        workers.hire(workers.address(), 1).says("acquired true").hears("fail").says("end NOT_DONE");
        workers.hire(workers.address(), 1)
                .says("locked", "waiting")
                .hears("tick")
                .says("max-attempts", "end EXHAUSTED");
    }

    @Test
    void othersWaitAndTakeOverOneAfterTheOtherUntilTheMaximum() {
        workers.hire().says("acquired false").hears("fail").says("end NOT_DONE");
        Hired second = workers.hire().says("locked", "waiting");
        Hired third = workers.hire().says("locked", "waiting");
        Hired fourth = workers.hire().says("locked", "waiting");

        second.hears("tick").says("acquired false");
        assertThat(workers.value()).isEqualTo("2");
        // It has changed, so its time begins anew.
        third.hears("tick").says("waiting");
        fourth.hears("tick").says("waiting");
        second.hears("fail").says("end NOT_DONE");

        third.hears("tick").says("acquired true");
        assertThat(workers.value()).isEqualTo("3");
        fourth.hears("tick").says("waiting");
        third.hears("fail").says("end NOT_DONE");

        fourth.hears("tick").says("max-attempts", "end EXHAUSTED");
        assertThat(workers.value()).isEqualTo("3");
        assertKeptFor(SteeredWorker.LOCK_TIMEOUT.multipliedBy(2));
    }

    @Test
    void whoComesAfterTheJobWasGivenUpIsToldAtOnceAndDoesNotPutItOff() {
        workers.commands().set(workers.key(), "3", SetArgs.Builder.ex(500));
        workers.hire().says("locked", "max-attempts", "end EXHAUSTED");
        assertThat(workers.left()).isLessThanOrEqualTo(Duration.ofSeconds(500));
    }

    @Test
    void aJobThatWasFinishedMeanwhileIsLeftAlone() {
        Hired first = workers.hire().says("acquired false");
        Hired second = workers.hire().says("locked", "waiting");
        first.hears("done").says("end DONE");
        second.hears("tick").says("end FINISHED_ELSEWHERE");
        workers.hire().says("locked", "end FINISHED_ELSEWHERE");
        assertThat(workers.value()).isEqualTo("DONE");
    }

    @Test
    void aKeyThatIsGoneMeansThatSomebodyCleanedUp() {
        workers.hire().says("acquired false");
        Hired second = workers.hire().says("locked", "waiting");
        workers.commands().del(workers.key());
        second.hears("tick").says("end GONE");
        assertThat(workers.value()).isEqualTo("null");
    }

    @Test
    void aMarkerWithoutAnEndGetsOne() {
        workers.commands().set(workers.key(), "DONE");
        workers.hire().says("locked", "end FINISHED_ELSEWHERE");
        assertThat(workers.value()).isEqualTo("DONE");
        assertKeptFor(SteeredWorker.RETENTION);
    }

    @Test
    void theLastAttemptWithoutAnEndGetsOneWhenItsTimeIsOver() {
        workers.commands().set(workers.key(), "3");
        workers.hire().says("locked", "waiting").hears("tick").says("max-attempts", "end EXHAUSTED");
        assertKeptFor(SteeredWorker.LOCK_TIMEOUT.multipliedBy(2));
    }

    @Test
    void moreAttemptsThanThisWorkerAllowsAreTooMany() {
        workers.commands().set(workers.key(), "7");
        workers.hire().says("locked", "waiting").hears("tick").says("max-attempts", "end EXHAUSTED");
    }

    @Test
    void notANumberIsAFinishedJobAndIsMended() {
        workers.commands().set(workers.key(), "NaN");
        workers.hire().says("locked", "end FINISHED_ELSEWHERE");
        assertThat(workers.value()).isEqualTo("DONE");
        assertKeptFor(SteeredWorker.RETENTION);
    }

    @ParameterizedTest
    @ValueSource(strings = {"done", "0", "-1", "01", "1.5", " 1", "1234567890123456", "{}"})
    void anythingElseIsRefusedAndStays(String value) {
        workers.commands().set(workers.key(), value);
        Hired worker = workers.hire().says("locked");
        assertThat(worker.next())
                .startsWith("failed IncompatibleStateException")
                .contains(workers.key())
                .contains("'" + value + "'");
        assertThat(workers.value()).isEqualTo(value);
    }

    @Test
    void aKeyOfAnotherTypeIsRefusedAndStays() {
        workers.commands().rpush(workers.key(), "1");
        Hired worker = workers.hire().says("locked");
        assertThat(worker.next())
                .startsWith("failed IncompatibleStateException")
                .contains("WRONGTYPE");
        assertThat(workers.commands().type(workers.key())).isEqualTo("list");
    }

    @Test
    void workThatIsFinishedLateIsRecordedAllTheSame() {
        Hired first = workers.hire().says("acquired false");
        Hired second = workers.hire().says("locked", "waiting").hears("tick").says("acquired false");
        assertThat(first.worker().attempt().done()).isFalse();
        assertThat(workers.value()).isEqualTo("DONE");
        // The other one is at work and cannot know; a third one does not begin.
        workers.hire().says("locked", "end FINISHED_ELSEWHERE");
        assertThat(second.worker().attempt().done()).isFalse();
        assertThat(second.worker().attempt().done()).isFalse();
        assertThat(workers.value()).isEqualTo("DONE");
    }

    @Test
    void aWorkerThatWasStoppedForLongLooksAnew() {
        workers.hire().says("acquired false");
        Hired second = workers.hire().says("locked", "waiting");
        // The job ends, is forgotten, and another one with the same key begins, while this worker sees nothing.
        second.worker().stoppedFor(SteeredWorker.LOCK_TIMEOUT.multipliedBy(2));
        second.hears("tick").says("waiting");
        assertThat(workers.value()).isEqualTo("1");
        second.hears("tick").says("acquired false");
        assertThat(workers.value()).isEqualTo("2");
    }

    @Test
    void anAttemptKnowsItsNumberAndItsTime() {
        Hired first = workers.hire().says("acquired false");
        WorkAttempt attempt = first.worker().attempt();
        assertThat(attempt.number()).isEqualTo(1);
        assertThat(attempt.remaining()).isBetween(Duration.ofMinutes(5), SteeredWorker.LOCK_TIMEOUT);
        assertThat(attempt).hasToString("attempt 1 of 3 at " + workers.key());
        first.worker().stoppedFor(SteeredWorker.LOCK_TIMEOUT);
        assertThat(attempt.remaining()).isZero();
    }

    @Test
    void whoIsInterruptedWhileItWaitsLeavesNothing() {
        workers.hire().says("acquired false");
        Hired second = workers.hire().says("locked", "waiting");
        second.thread().interrupt();
        second.says("interrupted");
        assertThat(workers.value()).isEqualTo("1");
    }

    @Test
    void anInterruptBeforeTheCallDoesNotLoseTheLock() throws InterruptedException {
        try (RedisWorkLock lock = RedisWorkLock.builder(workers.address()).build()) {
            Thread.currentThread().interrupt();
            WorkOutcome outcome = lock.run(workers.key(), WorkAttempt::done);
            assertThat(Thread.interrupted()).isTrue();
            assertThat(outcome).isEqualTo(WorkOutcome.DONE);
        }
    }
}
