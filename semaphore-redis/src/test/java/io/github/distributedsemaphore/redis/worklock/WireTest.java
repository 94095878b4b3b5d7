package io.github.distributedsemaphore.redis.worklock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.redis.worklock.Workers.Hired;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What goes over the wire, what comes between two commands, and answers that are lost. */
class WireTest {
    private final Workers workers = new Workers();
    private final String key = workers.key();
    private final AtomicBoolean happened = new AtomicBoolean();

    @AfterEach
    void close() {
        workers.close();
    }

    /** Something happens, once, between a worker's command and the one before. */
    private String before(String command, Runnable event) {
        return workers.gate((line, passing, answered) -> {
                    if (!answered && passing.equals(command) && happened.compareAndSet(false, true)) {
                        event.run();
                    }
                    return true;
                })
                .uri();
    }

    /** The answer to a command is lost, once: the server has done it. */
    private String losing(String command) {
        return workers.gate((line, passing, answered) ->
                        !(answered && passing.equals(command) && happened.compareAndSet(false, true)))
                .uri();
    }

    private Hired behind(String uri) {
        workers.commands().set(key, "1");
        return workers.hire(uri, 3).says("locked", "waiting");
    }

    @Test
    void eachLookHasAConnectionOfItsOwnWhichIsClosedThen() {
        CommandGate gate = workers.gate((line, command, answered) -> true);
        workers.commands().set(key, "1");
        Hired worker = workers.hire(gate.uri(), 3).says("locked", "waiting");
        await().untilAsserted(() -> assertThat(gate.open()).isZero());
        worker.hears("tick").says("acquired false");
        await().untilAsserted(() -> assertThat(gate.open()).isZero());
        worker.hears("done").says("end DONE");
        await().untilAsserted(() -> assertThat(gate.open()).isZero());

        assertThat(gate.lines().stream().map(CommandGate.Line::passed).toList())
                .isEqualTo(List.of(
                        List.of("SET " + key + " 1 NX"),
                        List.of("WATCH " + key, "GET " + key, "PTTL " + key),
                        List.of("WATCH " + key, "GET " + key, "PTTL " + key, "MULTI", "SET " + key + " 2", "EXEC"),
                        List.of("SET " + key + " DONE PX 3600000 GET")));
    }

    @Test
    void whoIsFasterHasIt() {
        Hired worker = behind(before("EXEC", () -> workers.commands().set(key, "2")));
        worker.hears("tick").says("locked", "waiting");
        assertThat(workers.value()).isEqualTo("2");
        worker.hears("tick").says("acquired true");
        assertThat(workers.value()).isEqualTo("3");
    }

    @Test
    void aTouchThatLeavesTheValueIsAChangeToo() {
        Hired worker = behind(before("EXEC", () -> workers.commands().set(key, "1")));
        worker.hears("tick").says("locked", "waiting").hears("tick").says("acquired false");
    }

    @Test
    void aJobThatIsFinishedBetweenTheLookAndTheChangeIsNotBegunAgain() {
        for (String command : List.of("MULTI", "SET " + key + " 2", "EXEC")) {
            happened.set(false);
            Hired worker = behind(before(command, () -> workers.commands().set(key, "DONE")));
            worker.hears("tick").says("locked", "end FINISHED_ELSEWHERE");
            assertThat(workers.value()).isEqualTo("DONE");
        }
    }

    @Test
    void aKeyThatGoesBetweenTheLookAndTheChangeIsNotMadeAnew() {
        Hired worker = behind(before("EXEC", () -> workers.commands().del(key)));
        worker.hears("tick").says("locked", "end GONE");
        assertThat(workers.value()).isEqualTo("null");
    }

    @Test
    void cleaningUpNeverTouchesALockThatHasComeInstead() {
        workers.commands().set(key, "DONE");
        Hired worker = workers.hire(before("EXEC", () -> workers.commands().set(key, "1")), 3);
        worker.says("locked", "waiting");
        assertThat(workers.value()).isEqualTo("1");
        assertThat(workers.commands().pttl(key)).isEqualTo(-1);
    }

    @Test
    void mendingNeverTouchesALockThatHasComeInstead() {
        workers.commands().set(key, "NaN");
        workers.hire(before("EXEC", () -> workers.commands().set(key, "1")), 3).says("locked", "waiting");
        assertThat(workers.value()).isEqualTo("1");
    }

    @Test
    void givingUpNeverTouchesAMarkerThatHasComeInstead() {
        workers.commands().set(key, "3");
        Hired worker = workers.hire(before("EXEC", () -> workers.commands().set(key, "DONE")), 3);
        worker.says("locked", "waiting").hears("tick").says("end FINISHED_ELSEWHERE");
        assertThat(workers.value()).isEqualTo("DONE");
    }

    @Test
    void aFirstAttemptWhoseAnswerIsLostCountsAsThatOfAWorkerThatDied() {
        Hired worker = workers.hire(losing("SET " + key + " 1 NX"), 3)
                .says("error OutcomeUnknownException", "locked", "waiting");
        assertThat(workers.value()).isEqualTo("1");
        worker.hears("tick").says("acquired false");
        assertThat(workers.value()).isEqualTo("2");
    }

    @Test
    void aFirstAttemptThatNeverReachesTheServerIsAskedForAgain() {
        AtomicInteger lost = new AtomicInteger();
        CommandGate gate = workers.gate(
                (line, command, answered) -> !command.equals("SET " + key + " 1 NX") || lost.incrementAndGet() > 2);
        workers.hire(gate.uri(), 3)
                .says("error OutcomeUnknownException", "error OutcomeUnknownException", "waiting")
                .hears("tick")
                .says("acquired false")
                .hears("done")
                .says("end DONE");
    }

    @Test
    void aTakeOverWhoseAnswerIsLostCountsAsThatOfAWorkerThatDied() {
        Hired worker = behind(losing("EXEC")).hears("tick").says("error OutcomeUnknownException", "waiting");
        assertThat(workers.value()).isEqualTo("2");
        worker.hears("tick").says("waiting").hears("tick").says("acquired true");
        assertThat(workers.value()).isEqualTo("3");
    }

    @Test
    void aRecordWhoseAnswerIsLostIsRepeated() {
        Hired worker = workers.hire(losing("SET " + key + " DONE PX 3600000 GET"), 3)
                .says("acquired false")
                .hears("done")
                .says("error OutcomeUnknownException", "waiting")
                .hears("tick")
                .says("end DONE");
        assertThat(worker.worker().attempt().number()).isEqualTo(1);
        assertThat(workers.value()).isEqualTo("DONE");
    }

    /** Returns what it says of the attempt. The answer to the first try is lost. */
    private boolean recorded(Duration after, Runnable meanwhile) throws InterruptedException {
        AtomicLong passed = new AtomicLong();
        RedisWorkLock.Pacing pacing = new RedisWorkLock.Pacing() {
            @Override
            public long nanoTime() {
                return passed.get();
            }

            @Override
            public void pause(CountDownLatch end, long nanos) {
                passed.addAndGet(nanos);
            }
        };
        RedisWorkLock lock = workers.lock(
                losing("SET " + key + " DONE PX 3600000 GET"),
                new WorkLockSettings(SteeredWorker.LOCK_TIMEOUT, 3, SteeredWorker.RETENTION, StatusLevel.NORMAL),
                pacing);
        AtomicBoolean newest = new AtomicBoolean();
        lock.run(key, attempt -> {
            passed.addAndGet(after.toNanos());
            meanwhile.run();
            newest.set(attempt.done());
        });
        assertThat(workers.value()).isEqualTo("DONE");
        return newest.get();
    }

    @Test
    void aRecordWhoseAnswerIsLostIsOfTheNewestAttemptBeforeTheLockTimeout() throws InterruptedException {
        assertThat(recorded(Duration.ZERO, () -> {})).isTrue();
    }

    /** The marker, of which nobody knows whose it is, was taken for its own. */
    @Test
    void afterTheLockTimeoutALostAnswerMayHaveSaidThatAnotherHadBegun() throws InterruptedException {
        Duration late = SteeredWorker.LOCK_TIMEOUT;
        assertThat(recorded(late, () -> workers.commands().set(key, "2"))).isFalse();
    }

    /** An earlier attempt, which took longer, may have recorded the end meanwhile. */
    @Test
    void afterALostAnswerOnlyTheFirstAttemptIsSureThatItIsTheNewest() throws InterruptedException {
        workers.commands().set(key, "1");
        assertThat(recorded(Duration.ZERO, () -> workers.commands().set(key, "DONE")))
                .isFalse();
    }

    /** The end was recorded, and "nothing is recorded" was said. */
    @Test
    void afterALostAnswerNothingIsCertainAnyMore() throws InterruptedException {
        assertThat(recordFailure(RedisWorkLock::close))
                .isInstanceOf(OutcomeUnknownException.class)
                .hasMessageContaining("closed");
        happened.set(false);
        assertThat(recordFailure(lock -> {
                    workers.commands().del(key);
                    workers.commands().rpush(key, "something else");
                }))
                .isInstanceOf(OutcomeUnknownException.class)
                .hasMessageContaining("WRONGTYPE");
    }

    /** The answer to the first try is lost. */
    private Throwable recordFailure(Consumer<RedisWorkLock> beforeTheNext) throws InterruptedException {
        workers.commands().del(key);
        AtomicReference<RedisWorkLock> used = new AtomicReference<>();
        RedisWorkLock.Pacing pacing = new RedisWorkLock.Pacing() {
            @Override
            public long nanoTime() {
                return 0;
            }

            @Override
            public void pause(CountDownLatch end, long nanos) {
                assertThat(workers.value()).isEqualTo("DONE");
                beforeTheNext.accept(used.get());
            }
        };
        RedisWorkLock lock = workers.lock(
                losing("SET " + key + " DONE PX 3600000 GET"),
                new WorkLockSettings(SteeredWorker.LOCK_TIMEOUT, 3, SteeredWorker.RETENTION, StatusLevel.NORMAL),
                pacing);
        used.set(lock);
        AtomicReference<Throwable> failure = new AtomicReference<>();
        lock.run(key, attempt -> failure.set(catchThrowable(attempt::done)));
        return failure.get();
    }

    @Test
    void aLookThatFailsIsRepeated() {
        workers.commands().set(key, "1");
        workers.hire(losing("WATCH " + key), 3)
                .says("locked", "error BackendUnavailableException", "waiting")
                .hears("tick")
                .says("waiting")
                .hears("tick")
                .says("acquired false");
    }

    /** Such as a short lock timeout over a link of many milliseconds. */
    @Test
    void aWorkerTakesOverAlsoIfAConnectionTakesLongerThanTheLockTimeout() throws InterruptedException {
        Duration timeout = Duration.ofMillis(100);
        CommandGate gate = workers.gate((line, command, answered) -> true);
        AtomicLong passed = new AtomicLong();
        RedisWorkLock.Pacing pacing = new RedisWorkLock.Pacing() {
            @Override
            public long nanoTime() {
                return passed.get()
                        + timeout.plusMillis(1).toNanos() * gate.lines().size();
            }

            @Override
            public void pause(CountDownLatch end, long nanos) {
                assertThat(gate.lines()).as("looks in vain").hasSizeLessThan(10);
                passed.addAndGet(Math.max(0, nanos));
            }
        };
        workers.commands().set(key, "1");
        RedisWorkLock lock = workers.lock(
                gate.uri(), new WorkLockSettings(timeout, 3, SteeredWorker.RETENTION, StatusLevel.NORMAL), pacing);

        WorkOutcome outcome =
                lock.run(key, attempt -> assertThat(workers.value()).isEqualTo("2"));

        assertThat(outcome).isEqualTo(WorkOutcome.NOT_DONE);
        assertThat(gate.lines()).as("the first attempt and two looks").hasSize(3);
    }
}
