package io.github.distributedsemaphore.redis.worklock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.redis.RedisServer;
import io.github.distributedsemaphore.redis.worklock.Workers.Hired;
import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.protocol.CommandType;
import java.io.IOException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The work lock as an application uses it, in real time. */
class RedisWorkLockTest {
    private static final String WARM_UP = "warm-up";
    private static final Duration SHORT = Duration.ofMillis(200);

    private final Workers workers = new Workers();

    @AfterEach
    void close() {
        workers.close();
    }

    private RedisWorkLock.Builder builder() {
        return RedisWorkLock.builder(workers.address()).lockTimeout(SHORT);
    }

    @Test
    void oneOfManyDoesTheJob() throws Exception {
        ConcurrentLinkedQueue<Long> begun = new ConcurrentLinkedQueue<>();
        List<WorkOutcome> outcomes = atOnce(16, builder(), attempt -> {
            begun.add(attempt.number());
            attempt.done();
        });
        assertThat(begun).containsExactly(1L);
        assertThat(outcomes).containsOnly(WorkOutcome.DONE, WorkOutcome.FINISHED_ELSEWHERE);
        assertThat(Collections.frequency(outcomes, WorkOutcome.DONE)).isEqualTo(1);
    }

    @Test
    void whenAllFailEachAttemptIsMadeOnce() throws Exception {
        ConcurrentLinkedQueue<Long> begun = new ConcurrentLinkedQueue<>();
        // Long enough that none of them comes when the job is forgotten again, and begins anew.
        RedisWorkLock.Builder patient =
                builder().lockTimeout(Duration.ofMillis(600)).maxAttempts(3);
        List<WorkOutcome> outcomes = atOnce(8, patient, attempt -> begun.add(attempt.number()));
        assertThat(begun).containsExactly(1L, 2L, 3L);
        assertThat(Collections.frequency(outcomes, WorkOutcome.NOT_DONE)).isEqualTo(3);
        assertThat(Collections.frequency(outcomes, WorkOutcome.EXHAUSTED)).isEqualTo(5);
        // Then it is forgotten.
        await().until(() -> workers.value().equals("null"));
    }

    @Test
    void aFailureOfTheFirstIsMadeGoodByAnother() throws Exception {
        ConcurrentLinkedQueue<Long> begun = new ConcurrentLinkedQueue<>();
        List<WorkOutcome> outcomes = atOnce(4, builder(), attempt -> {
            begun.add(attempt.number());
            if (attempt.number() == 3) {
                attempt.done();
            }
        });
        assertThat(begun).containsExactly(1L, 2L, 3L);
        assertThat(outcomes)
                .containsExactlyInAnyOrder(
                        WorkOutcome.NOT_DONE, WorkOutcome.NOT_DONE, WorkOutcome.DONE, WorkOutcome.FINISHED_ELSEWHERE);
    }

    private List<WorkOutcome> atOnce(int number, RedisWorkLock.Builder builder, WorkLockListener<RuntimeException> work)
            throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(number);
        CountDownLatch start = new CountDownLatch(number);
        try (RedisWorkLock lock = builder.build()) {
            lock.run(workers.key() + WARM_UP, WorkAttempt::done);
            workers.commands().del(workers.key() + WARM_UP);
            List<Future<WorkOutcome>> runs = new ArrayList<>();
            for (int i = 0; i < number; i++) {
                runs.add(threads.submit(() -> {
                    start.countDown();
                    start.await();
                    return lock.run(workers.key(), work);
                }));
            }
            List<WorkOutcome> outcomes = new ArrayList<>();
            for (Future<WorkOutcome> run : runs) {
                outcomes.add(run.get(60, TimeUnit.SECONDS));
            }
            return outcomes;
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void whatTheWorkThrowsReachesTheCallerAndLeavesTheJob() throws Exception {
        try (RedisWorkLock lock = builder().build()) {
            assertThatThrownBy(() -> lock.run(workers.key(), attempt -> {
                        throw new IOException("disk full");
                    }))
                    .isInstanceOf(IOException.class)
                    .hasMessage("disk full");
            assertThat(workers.value()).isEqualTo("1");
            // The same worker may come again, and is one of those behind now.
            assertThat(lock.run(workers.key(), WorkAttempt::done)).isEqualTo(WorkOutcome.DONE);
        }
    }

    @Test
    void statusTellsWhatChangesAndIfWantedEachLook() throws Exception {
        List<String> normal = new ArrayList<>();
        List<String> verbose = new ArrayList<>();
        workers.commands().set(workers.key(), "1");
        try (RedisWorkLock lock = builder().build();
                RedisWorkLock talkative =
                        builder().statusLevel(StatusLevel.VERBOSE).build()) {
            lock.run(workers.key(), telling(normal));
            workers.commands().set(workers.key(), "1");
            talkative.run(workers.key(), telling(verbose));
        }
        String name = "key '" + workers.key() + "': ";
        assertThat(normal).containsExactly(name + "has attempt 2 of 5", name + "finished by attempt 2");
        assertThat(verbose).endsWith(normal.toArray(String[]::new)).hasSizeGreaterThan(2);
        assertThat(verbose.get(0)).startsWith(name + "attempt 1 is under way, looking again in ");
    }

    private static WorkLockListener<RuntimeException> telling(List<String> lines) {
        return new WorkLockListener<>() {
            @Override
            public void acquired(WorkAttempt attempt) {
                attempt.done();
            }

            @Override
            public void status(String message) {
                lines.add(message);
            }
        };
    }

    @Test
    void closingEndsTheWaits() {
        workers.commands().set(workers.key(), "1");
        RedisWorkLock lock = workers.lock(
                workers.address(),
                new WorkLockSettings(Duration.ofHours(1), 3, Duration.ofHours(2), StatusLevel.VERBOSE),
                RedisWorkLock.Pacing.SYSTEM);
        CountDownLatch waiting = new CountDownLatch(1);
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try {
            Future<WorkOutcome> run = thread.submit(() -> lock.run(workers.key(), new WorkLockListener<>() {
                @Override
                public void acquired(WorkAttempt attempt) {
                    throw new AssertionError("it is another worker's");
                }

                @Override
                public void status(String message) {
                    waiting.countDown();
                }
            }));
            waiting.await();
            lock.close();
            assertThatThrownBy(() -> run.get(30, TimeUnit.SECONDS))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(SemaphoreClosedException.class);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        } finally {
            thread.shutdownNow();
        }
        assertThatThrownBy(() -> lock.run(workers.key(), WorkAttempt::done))
                .isInstanceOf(SemaphoreClosedException.class)
                .hasMessageContaining(workers.key());
        assertThat(workers.value()).isEqualTo("1");
    }

    @Test
    void anAttemptThatOutlivesItsLockCannotBeRecorded() throws Exception {
        List<WorkAttempt> attempts = new ArrayList<>();
        try (RedisWorkLock lock = builder().build()) {
            assertThat(lock.run(workers.key(), attempts::add)).isEqualTo(WorkOutcome.NOT_DONE);
        }
        assertThatThrownBy(attempts.get(0)::done).isInstanceOf(SemaphoreClosedException.class);
    }

    @Test
    void aListenerThatThrowsUndoesNoRecord() throws Exception {
        WorkLockListener<RuntimeException> throwing = new WorkLockListener<>() {
            @Override
            public void acquired(WorkAttempt attempt) {
                assertThatThrownBy(attempt::done).hasMessageContaining("cannot tell");
            }

            @Override
            public void status(String message) {
                if (message.contains("finished")) {
                    throw new IllegalStateException("cannot tell: " + message);
                }
            }
        };
        try (RedisWorkLock lock = builder().build()) {
            assertThat(lock.run(workers.key(), throwing)).isEqualTo(WorkOutcome.DONE);
        }
    }

    @Test
    void withoutAServerTheFirstCallSaysSo() {
        RedisServer server = RedisServer.start();
        String address = server.uri();
        server.close();
        try (RedisWorkLock lock = RedisWorkLock.builder(address).build()) {
            assertThatThrownBy(() -> lock.run("job", WorkAttempt::done))
                    .isInstanceOf(BackendUnavailableException.class)
                    .hasMessageContaining("key 'job' at 127.0.0.1:");
        }
    }

    @Test
    void aWorkerThatWaitsOutlastsARestartOfTheServer() {
        try (RedisServer server = RedisServer.start();
                Workers here = new Workers(server.uri())) {
            here.commands().set(here.key(), "1");
            Hired worker = here.hire().says("locked", "waiting");
            server.kill();
            worker.hears("tick").says("error BackendUnavailableException", "waiting");
            worker.hears("tick").says("error BackendUnavailableException", "waiting");
            server.restart();
            worker.hears("tick").says("acquired false").hears("done").says("end DONE");
            assertThat(here.value()).isEqualTo("DONE");
        }
    }

    @Test
    void aRecordThatCannotBeMadeIsTriedForALockTimeoutAndThenSaid() {
        try (RedisServer server = RedisServer.start();
                Workers here = new Workers(server.uri())) {
            Hired worker = here.hire().says("acquired false");
            server.kill();
            worker.hears("done").says("error BackendUnavailableException", "waiting");
            worker.worker().stoppedFor(SteeredWorker.LOCK_TIMEOUT);
            worker.hears("tick");
            assertThat(worker.next()).startsWith("failed BackendUnavailableException");
            server.restart();
            assertThat(worker.worker().attempt().done()).isTrue();
        }
    }

    /** Makes a user that has the rights that the document lists. Returns its address. */
    private String allowWorker() {
        AclSetuserArgs rights = AclSetuserArgs.Builder.reset()
                .on()
                .addPassword("secret")
                .keyPattern("job-*")
                .addCommand(CommandType.WATCH)
                .addCommand(CommandType.MULTI)
                .addCommand(CommandType.EXEC)
                .addCommand(CommandType.GET)
                .addCommand(CommandType.PTTL)
                .addCommand(CommandType.SET)
                .addCommand(CommandType.PEXPIRE);
        workers.commands().aclSetuser("worker", rights);
        return workers.address().replace("redis://", "redis://worker:secret@");
    }

    /** Asked again and again, the server would refuse it without an end. */
    @Test
    void aWorkerThatMayNotTakeOverIsToldSo() {
        String address = allowWorker();
        workers.commands().aclSetuser("worker", AclSetuserArgs.Builder.removeCommand(CommandType.EXEC));
        workers.commands().set(workers.key(), "1");
        try (RedisWorkLock lock = RedisWorkLock.builder(address)
                .lockTimeout(Duration.ofMillis(100))
                .build()) {
            assertTimeoutPreemptively(
                    Duration.ofSeconds(20),
                    () -> assertThatThrownBy(() -> lock.run(workers.key(), WorkAttempt::done))
                            .isInstanceOf(BackendAccessException.class)
                            .hasMessageContaining("exec"));
        } finally {
            workers.commands().aclDeluser("worker");
        }
    }

    @Test
    void theRightsThatTheDocumentListsAreEnough() throws Exception {
        String address = allowWorker();
        workers.hire(address, 2).says("acquired false").hears("fail").says("end NOT_DONE");
        workers.hire(address, 2)
                .says("locked", "waiting")
                .hears("tick")
                .says("acquired true")
                .hears("fail");
        workers.hire(address, 2).says("locked", "waiting").hears("tick").says("max-attempts", "end EXHAUSTED");
        workers.commands().set(workers.key(), "DONE");
        workers.hire(address, 2).says("locked", "end FINISHED_ELSEWHERE");

        String wrong = workers.address().replace("redis://", "redis://worker:guess@");
        try (RedisWorkLock lock = RedisWorkLock.builder(wrong).build();
                RedisWorkLock elsewhere = RedisWorkLock.builder(address).build()) {
            assertThatThrownBy(() -> lock.run(workers.key(), WorkAttempt::done))
                    .isInstanceOf(BackendAccessException.class)
                    .satisfies(failure -> assertThat(failure.toString()).doesNotContain("guess"));
            assertThatThrownBy(() -> elsewhere.run("forbidden", WorkAttempt::done))
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("NOPERM");
            assertThat(lock.toString()).doesNotContain("guess");
        }
        workers.commands().aclDeluser("worker");
    }

    @Test
    void settingsOutOfTheirBoundsAreRefusedByName() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder().lockTimeout(Duration.ofMillis(99)).build())
                .withMessageContaining("lockTimeout")
                .withMessageContaining("PT0.099S");
        for (Duration boundless : List.of(ChronoUnit.FOREVER.getDuration(), Duration.ofSeconds(Long.MIN_VALUE))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> builder().lockTimeout(boundless).build())
                    .withMessageContaining("lockTimeout is");
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder().maxAttempts(0).build())
                .withMessageContaining("maxAttempts is 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder()
                        .doneRetention(SHORT.multipliedBy(2).minusMillis(1))
                        .build())
                .withMessageContaining("doneRetention")
                .withMessageContaining("PT0.4S");
    }

    @Test
    void addressesOfOtherKindsAreRefusedWithoutTheirPassword() {
        Map.of(
                        "http://me:secret@host", "redis://[user:password@]host[:port][/database]",
                        "host", "URI such as",
                        "redis://me:secret@host:port", "The port of 'host:port'",
                        "redis://me:secret@host?detection=10s", "detection")
                .forEach((address, message) -> assertThatIllegalArgumentException()
                        .isThrownBy(() -> RedisWorkLock.builder(address))
                        .withMessageContaining(message)
                        .satisfies(refusal -> assertThat(refusal.getMessage()).doesNotContain("secret")));
    }

    @Test
    void aKeyHasAName() throws SemaphoreException {
        try (RedisWorkLock lock = builder().build()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> lock.run("", WorkAttempt::done))
                    .withMessageContaining("empty");
        }
    }
}
