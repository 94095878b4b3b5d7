package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.memory.Link;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The engine on threads and time as they are. */
class RealThreadsTest {
    private static final String NAME = "exports";

    private final MemoryServer server = new MemoryServer();
    private final CountDownLatch asked = new CountDownLatch(1);
    private final CountDownLatch answer = new CountDownLatch(1);
    private final SemaphoreClient client = client(Link.DIRECT);
    private final DistributedSemaphore semaphore = client.semaphore(NAME);

    private SemaphoreClient client(Link link) {
        return client(link, Duration.ofMillis(10));
    }

    private SemaphoreClient client(Link link, Duration handOffTime) {
        MemoryBackend backend = new MemoryBackend(server, new HolderInfo("host", 1, ""), link);
        backend.admin().create(NAME, 1);
        return SemaphoreClient.builder(backend).handOffTime(handOffTime).connect();
    }

    /** The answer of its first exchange waits for the test. */
    private SemaphoreClient slowClient() {
        return client(Link.with(what -> {}, what -> {
            if (what.equals("exchange")) {
                asked.countDown();
                passUninterruptibly(answer);
            }
        }));
    }

    /** The answer of the first exchange after the release of a permit waits for the test. */
    private Link slowAfter(Permit released) {
        return Link.with(what -> {}, what -> {
            if (what.equals("exchange") && !released.isValid()) {
                asked.countDown();
                passUninterruptibly(answer);
            }
        });
    }

    @AfterEach
    void close() {
        answer.countDown();
        client.close();
    }

    @Test
    void whatIsChainedToAFutureMayBlockAndDelaysNobody() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        CountDownLatch held = new CountDownLatch(1);
        // While this one is held the future cannot be complete: what is chained to a complete one runs on the caller's
        // thread.
        Permit first = semaphore.acquire();
        CompletableFuture<String> blocked = semaphore.acquireAsync().thenApply(permit -> {
            held.countDown();
            passUninterruptibly(go);
            permit.close();
            return Thread.currentThread().getName();
        });
        first.close();
        assertThat(held.await(10, TimeUnit.SECONDS)).isTrue();
        CompletableFuture<Permit> next = semaphore.acquireAsync();
        assertThat(semaphore.tryAcquire()).isEmpty();
        go.countDown();
        next.get(10, TimeUnit.SECONDS).close();
        assertThat(blocked.get(10, TimeUnit.SECONDS)).startsWith("semaphore-").contains("-worker-");
    }

    @Test
    void aListenerThatBlocksOrThrowsHoldsUpNobody() throws Exception {
        Permit permit = semaphore.acquire();
        CountDownLatch go = new CountDownLatch(1);
        CountDownLatch told = new CountDownLatch(2);
        permit.onLost(loss -> passUninterruptibly(go));
        permit.onLost(loss -> {
            throw new IllegalStateException("a listener's bug, logged");
        });
        permit.onLost(loss -> told.countDown());
        server.revoke(NAME, 1, "because");
        permit.onLost(loss -> told.countDown());
        assertThat(told.await(10, TimeUnit.SECONDS)).isTrue();
        semaphore.acquire(Duration.ofSeconds(10)).close();
        go.countDown();
    }

    @Test
    void whoAsksForASemaphoreWhileItsClientClosesLosesNoPermitOfIt() throws Exception {
        for (int round = 0; round < 20; round++) {
            SemaphoreClient closing = client(Link.DIRECT);
            List<PermitLoss> losses = new CopyOnWriteArrayList<>();
            for (int i = 0; i < 20; i++) {
                closing.admin().create(NAME + i, 1);
                closing.semaphore(NAME + i).acquire().onLost(losses::add);
            }
            CountDownLatch asking = new CountDownLatch(1);
            CompletableFuture<Void> asked = CompletableFuture.runAsync(() -> {
                for (int i = 0; true; i++) {
                    closing.semaphore(NAME + i % 20);
                    asking.countDown();
                }
            });
            asking.await();
            closing.close();
            assertThatThrownBy(() -> asked.get(10, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(SemaphoreClosedException.class);
            assertThat(losses).as("losses in round %s", round).isEmpty();
            for (int i = 0; i < 20; i++) {
                assertThat(client.semaphore(NAME + i).availablePermits()).isEqualTo(1);
            }
        }
    }

    @Test
    void aWakeUpIsNotLostWhenItsThreadJustLooksForOne() throws Exception {
        AcquireCall call = new AcquireCall(1, Deadline.NEVER, false, () -> {}, () -> {});
        AtomicInteger sent = new AtomicInteger();
        AtomicInteger taken = new AtomicInteger();
        int rounds = 200_000;
        CompletableFuture<Void> waker = CompletableFuture.runAsync(() -> {
            for (int round = 1; round <= rounds; round++) {
                call.wakeToDrive();
                sent.set(round);
                while (taken.get() < round) {
                    Thread.onSpinWait();
                }
            }
        });
        for (int round = 1; round <= rounds; round++) {
            boolean lastLook = false;
            while (!call.takeWakeUp()) {
                assertThat(lastLook).as("wake-up %s is lost", round).isFalse();
                lastLook = sent.get() == round;
            }
            taken.set(round);
        }
        waker.get(10, TimeUnit.SECONDS);
    }

    @Test
    void anAsyncAcquireOfAClosedClientFails() {
        client.close();
        assertThatThrownBy(() -> semaphore.acquireAsync().get(10, TimeUnit.SECONDS))
                .hasCauseInstanceOf(SemaphoreClosedException.class);
    }

    @Test
    void anAsyncAttemptWhoseAnswerComesAfterAnAbortFails() throws Exception {
        SemaphoreClient slow = slowClient();
        CompletableFuture<Permit> attempt = slow.semaphore(NAME).acquireAsync(Duration.ZERO);
        asked.await();
        slow.abort();
        answer.countDown();
        assertThatThrownBy(() -> attempt.get(10, TimeUnit.SECONDS)).hasCauseInstanceOf(SemaphoreClosedException.class);
    }

    @Test
    void anAsyncCallEndsAsClosedWhileItsAnswerIsAwaited() throws Exception {
        SemaphoreClient slow = slowClient();
        CompletableFuture<Permit> waiting = slow.semaphore(NAME).acquireAsync();
        asked.await();
        slow.abort();
        assertThatThrownBy(() -> waiting.get(10, TimeUnit.SECONDS)).hasCauseInstanceOf(SemaphoreClosedException.class);
    }

    @Test
    void closeWaitsForTheExchangeUnderWay() throws Exception {
        SemaphoreClient slow = slowClient();
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            Future<?> attempt = threads.submit(() -> slow.semaphore(NAME).tryAcquire());
            asked.await();
            Future<?> closing = threads.submit(slow::close);
            assertThatThrownBy(() -> closing.get(100, TimeUnit.MILLISECONDS))
                    .isInstanceOf(java.util.concurrent.TimeoutException.class);
            answer.countDown();
            closing.get(10, TimeUnit.SECONDS);
            assertThatThrownBy(attempt::get).hasCauseInstanceOf(SemaphoreClosedException.class);
            assertThat(semaphore.availablePermits()).isEqualTo(1);
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void aSlotThatIsReleasedDuringAnExchangeDoesNotGoToTheOneWhomThatExchangeServes() throws Exception {
        client.admin().create("pair", 2);
        Permit first = client.semaphore("pair").acquire();
        try (SemaphoreClient other = client(slowAfter(first))) {
            Permit second = other.semaphore("pair").acquire();
            first.release();
            CompletableFuture<Permit> waiting = other.semaphore("pair").acquireAsync();
            assertThat(asked.await(10, TimeUnit.SECONDS)).isTrue();
            Thread releasing = new Thread(second::release);
            releasing.start();
            await().until(() -> releasing.getState() == Thread.State.WAITING || !releasing.isAlive());
            answer.countDown();

            assertThat(waiting.get(10, TimeUnit.SECONDS).slot()).isNotEqualTo(second.slot());
            releasing.join();
            assertThat(client.semaphore("pair").availablePermits()).isEqualTo(1);
        }
    }

    @Test
    void nobodyIsHandedASlotWhoCanHaveTheOneThatTheBackendIsGrantingToACallThatHasEnded() throws Exception {
        client.admin().create("pair", 2);
        Permit first = client.semaphore("pair").acquire();
        try (SemaphoreClient other = client(slowAfter(first), Duration.ofSeconds(10))) {
            DistributedSemaphore pair = other.semaphore("pair");
            Permit second = pair.acquire();
            first.release();
            CompletableFuture<Permit> waiting = pair.acquireAsync();
            assertThat(asked.await(10, TimeUnit.SECONDS)).isTrue();
            CompletableFuture<Permit> behind = pair.acquireAsync();
            second.release();
            Permit handedOff = waiting.get(10, TimeUnit.SECONDS);
            assertThat(handedOff.slot()).isEqualTo(second.slot());
            CompletableFuture<ReleaseOutcome> released = handedOff.releaseAsync();
            answer.countDown();

            assertThat(behind.get(10, TimeUnit.SECONDS).slot()).isEqualTo(first.slot());
            released.get(10, TimeUnit.SECONDS);
            assertThat(client.semaphore("pair").availablePermits()).isEqualTo(1);
        }
    }

    /** An exchange takes as long as many holds, and was for calls that have been served since by hand-off. */
    @Test
    void handOffsGoOnWhileAnExchangeIsUnderWay() throws Exception {
        AtomicBoolean late = new AtomicBoolean();
        Link link = Link.with(what -> {}, what -> {
            if (what.equals("exchange") && late.getAndSet(false)) {
                asked.countDown();
                passUninterruptibly(answer);
            }
        });
        try (SemaphoreClient busy = client(link, Duration.ofSeconds(10))) {
            Permit held = busy.semaphore(NAME).acquire();
            List<CompletableFuture<Permit>> waiting = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                waiting.add(busy.semaphore(NAME).acquireAsync());
            }
            await("all were refused, and are asked for again later")
                    .pollDelay(Duration.ofMillis(50))
                    .until(() -> true);
            late.set(true);
            assertThat(asked.await(10, TimeUnit.SECONDS)).isTrue();
            List<CompletableFuture<ReleaseOutcome>> released = new ArrayList<>();
            released.add(held.releaseAsync());
            for (CompletableFuture<Permit> next : waiting.subList(0, 6)) {
                released.add(next.get(10, TimeUnit.SECONDS).releaseAsync());
            }
            answer.countDown();
            for (CompletableFuture<Permit> next : waiting.subList(6, 8)) {
                released.add(next.get(10, TimeUnit.SECONDS).releaseAsync());
            }
            for (CompletableFuture<ReleaseOutcome> each : released) {
                assertThat(each.get(10, TimeUnit.SECONDS)).isEqualTo(ReleaseOutcome.RELEASED);
            }
        }
    }

    @Test
    void aCrowdSharesOneSlotWithoutOverlap() throws Exception {
        AtomicInteger inside = new AtomicInteger();
        List<Future<?>> workers = new ArrayList<>();
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            for (int i = 0; i < 16; i++) {
                workers.add(threads.submit(() -> {
                    for (int round = 0; round < 50; round++) {
                        semaphore.withPermit(Duration.ofSeconds(30), permit -> {
                            assertThat(inside.incrementAndGet()).isOne();
                            inside.decrementAndGet();
                            return round(permit);
                        });
                    }
                    return null;
                }));
            }
            for (Future<?> worker : workers) {
                worker.get();
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(semaphore.availablePermits()).isEqualTo(1);
    }

    private static long round(Permit permit) {
        return permit.fence().epoch();
    }

    @Test
    void aClosedClientLeavesNoThreadBehind() {
        Environment environment = new RealEnvironment(null);
        CountDownLatch ran = new CountDownLatch(2);
        environment.execute(ran::countDown);
        environment.schedule(ran::countDown, 1);
        await().until(() -> ran.getCount() == 0);
        List<Thread> threads = Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("semaphore-"))
                .toList();
        assertThat(threads).isNotEmpty().allMatch(Thread::isDaemon);
        environment.close();
        environment.close();
        client.close();
        await().until(() -> threads.stream().noneMatch(Thread::isAlive));
    }

    @Test
    void threadsKeepNothingOfTheCallThatNeededThemFirst() throws Exception {
        InheritableThreadLocal<String> callers = new InheritableThreadLocal<>();
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        Environment environment = new RealEnvironment(null);
        try (URLClassLoader loader = new URLClassLoader(new URL[0], before)) {
            callers.set("a request");
            Thread.currentThread().setContextClassLoader(loader);
            CompletableFuture<String> seen = new CompletableFuture<>();
            CompletableFuture<ClassLoader> sees = new CompletableFuture<>();
            environment.execute(() -> {
                seen.complete(callers.get());
                sees.complete(Thread.currentThread().getContextClassLoader());
            });
            assertThat(seen.get(10, TimeUnit.SECONDS)).isNull();
            assertThat(sees.get(10, TimeUnit.SECONDS)).isSameAs(Environment.class.getClassLoader());
        } finally {
            Thread.currentThread().setContextClassLoader(before);
            callers.remove();
            environment.close();
        }
    }

    /** Each callback of the port, on the executor that the application gave; without one on threads of the client. */
    @Test
    void callbacksRunOnTheExecutorOfTheApplication() throws Exception {
        ExecutorService own = Executors.newSingleThreadExecutor(task -> new Thread(task, "of the application"));
        MemoryBackend backend = new MemoryBackend(server, new HolderInfo("host", 1, ""));
        try (SemaphoreClient calling =
                SemaphoreClient.builder(backend).callbackExecutor(own).connect()) {
            DistributedSemaphore its = calling.semaphore(NAME);
            List<String> threads = new CopyOnWriteArrayList<>();
            Runnable here = () -> threads.add(Thread.currentThread().getName());
            Permit permit = whileBusy(own, its::acquireAsync, here);
            CompletableFuture<?> lost = new CompletableFuture<>();
            permit.onLost(loss -> {
                here.run();
                lost.complete(null);
            });
            server.revoke(NAME, 1, "because");
            whileBusy(own, permit::verifyAsync, here);
            lost.get(10, TimeUnit.SECONDS);
            Supplier<CompletableFuture<String>> task = () -> its.withPermitAsync(Duration.ofSeconds(10), taken -> {
                here.run();
                return CompletableFuture.completedFuture("done");
            });
            whileBusy(own, task, here);
            await().untilAsserted(() -> assertThat(threads).hasSize(5).containsOnly("of the application"));
        } finally {
            own.shutdownNow();
        }
    }

    /** Keeps the executor from completing the future before something is chained to it, which would run on this thread then. */
    private static <T> T whileBusy(ExecutorService executor, Supplier<CompletableFuture<T>> call, Runnable chained)
            throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        executor.execute(() -> passUninterruptibly(go));
        CompletableFuture<T> future = call.get().whenComplete((value, failure) -> chained.run());
        go.countDown();
        return future.get(10, TimeUnit.SECONDS);
    }

    @Test
    void anExecutorThatRefusesCallbacksStopsNothing() throws Exception {
        ExecutorService full = Executors.newSingleThreadExecutor();
        full.shutdown();
        callsEndOver(full);
    }

    @Test
    void anExecutorThatFailsStopsNothing() throws Exception {
        callsEndOver(task -> {
            throw new OutOfMemoryError("unable to create native thread (by the test)");
        });
        callsEndOver(task -> {
            throw new IllegalStateException("an executor's bug");
        });
    }

    @Test
    void anExecutorThatFailsAfterItRanACallbackLeavesThePermitToTheApplication() throws Exception {
        callsEndOver(task -> {
            task.run();
            throw new IllegalStateException("an executor's bug");
        });
    }

    private void callsEndOver(Executor callbacks) throws Exception {
        MemoryBackend backend = new MemoryBackend(server, new HolderInfo("host", 1, ""));
        try (SemaphoreClient calling =
                SemaphoreClient.builder(backend).callbackExecutor(callbacks).connect()) {
            Permit permit = calling.semaphore(NAME).acquireAsync().get(10, TimeUnit.SECONDS);
            assertThat(permit.verifyAsync().get(10, TimeUnit.SECONDS)).isEqualTo(Verification.HELD);
            assertThat(permit.releaseAsync().get(10, TimeUnit.SECONDS)).isEqualTo(ReleaseOutcome.RELEASED);
            Permit revoked = calling.semaphore(NAME).acquire();
            CountDownLatch told = new CountDownLatch(1);
            revoked.onLost(loss -> told.countDown());
            server.revoke(NAME, 1, "because");
            assertThat(told.await(10, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void whatAnExecutorKeepsAlthoughItFailsRunsOnce() {
        List<Runnable> kept = new ArrayList<>();
        Environment environment = new RealEnvironment(task -> {
            kept.add(task);
            throw new IllegalStateException("an executor's bug");
        });
        AtomicInteger runs = new AtomicInteger();
        environment.callBack(runs::incrementAndGet);
        kept.forEach(Runnable::run);
        assertThat(kept).hasSize(1);
        assertThat(runs).hasValue(1);
        environment.close();
    }

    @Test
    void whatAnExecutorNeverDeliversIsHeldUntilTheClientCloses() {
        MemoryBackend backend = new MemoryBackend(server, new HolderInfo("host", 1, ""));
        try (SemaphoreClient calling =
                SemaphoreClient.builder(backend).callbackExecutor(task -> {}).connect()) {
            CompletableFuture<Permit> undelivered = calling.semaphore(NAME).acquireAsync();
            await().until(() -> semaphore.availablePermits() == 0);
            assertThat(undelivered).isNotDone();
        }
        assertThat(semaphore.availablePermits()).isEqualTo(1);
    }

    @Test
    void whatAnExecutorNeverDeliversGoesBackWhenItsFutureIsCancelled() {
        MemoryBackend backend = new MemoryBackend(server, new HolderInfo("host", 1, ""));
        try (SemaphoreClient calling =
                SemaphoreClient.builder(backend).callbackExecutor(task -> {}).connect()) {
            CompletableFuture<Permit> undelivered = calling.semaphore(NAME).acquireAsync();
            await().until(() -> semaphore.availablePermits() == 0);
            undelivered.cancel(false);
            await().until(() -> semaphore.availablePermits() == 1);
        }
    }

    @Test
    void aTaskThatAnExecutorNeverCallsKeepsNoPermitWhenItsFutureIsCancelled() {
        MemoryBackend backend = new MemoryBackend(server, new HolderInfo("host", 1, ""));
        AtomicInteger called = new AtomicInteger();
        Executor onlyTheFirst = task -> {
            if (called.getAndIncrement() == 0) {
                task.run();
            }
        };
        try (SemaphoreClient calling =
                SemaphoreClient.builder(backend).callbackExecutor(onlyTheFirst).connect()) {
            CompletableFuture<Object> result = calling.semaphore(NAME)
                    .withPermitAsync(Duration.ofSeconds(10), permit -> new CompletableFuture<>());
            await().until(() -> called.get() == 2);
            result.cancel(false);
            await().until(() -> semaphore.availablePermits() == 1);
        }
    }

    @Test
    void whatAnExecutorDeliversAfterItsClientWasClosedIsNoPermit() {
        Queue<Runnable> kept = new ConcurrentLinkedQueue<>();
        CompletableFuture<Permit> late;
        try (SemaphoreClient calling = calling(Link.DIRECT, kept::add)) {
            late = calling.semaphore(NAME).acquireAsync();
            await().until(() -> !kept.isEmpty());
        }
        await().until(() -> ranUntilDone(kept, late));
        assertThatThrownBy(late::join).hasCauseInstanceOf(SemaphoreClosedException.class);
    }

    @Test
    void aPermitThatIsLostBeforeAnExecutorDeliversItIsAskedForAgain() {
        Queue<Runnable> kept = new ConcurrentLinkedQueue<>();
        try (SemaphoreClient calling = calling(Link.DIRECT, kept::add)) {
            CompletableFuture<Permit> late = calling.semaphore(NAME).acquireAsync();
            await().until(() -> !kept.isEmpty());
            server.revoke(NAME, 1, "because");
            await().until(() -> ranUntilDone(kept, late));
            assertThat(late.join().verify()).isEqualTo(Verification.HELD);
        }
    }

    @Test
    void aTaskThatAnExecutorCallsAfterItsClientWasClosedDoesNotBegin() {
        Queue<Runnable> kept = new ConcurrentLinkedQueue<>();
        AtomicInteger begun = new AtomicInteger();
        CompletableFuture<Object> result;
        try (SemaphoreClient calling = calling(Link.DIRECT, allButTheFirst(kept))) {
            result = calling.semaphore(NAME).withPermitAsync(Duration.ofSeconds(10), permit -> {
                begun.incrementAndGet();
                return CompletableFuture.completedFuture("done");
            });
            await().until(() -> !kept.isEmpty());
        }
        await().until(() -> ranUntilDone(kept, result));
        assertThat(begun).hasValue(0);
        assertThatThrownBy(result::join).hasCauseInstanceOf(SemaphoreClosedException.class);
    }

    @Test
    void aTaskWhosePermitIsLostBeforeAnExecutorCallsItDoesNotBegin() {
        Queue<Runnable> kept = new ConcurrentLinkedQueue<>();
        AtomicInteger begun = new AtomicInteger();
        try (SemaphoreClient calling = calling(Link.DIRECT, allButTheFirst(kept))) {
            CompletableFuture<Object> result = calling.semaphore(NAME)
                    .withPermitAsync(Duration.ofSeconds(10), permit -> {
                        begun.incrementAndGet();
                        return CompletableFuture.completedFuture("done");
                    });
            await().until(() -> !kept.isEmpty());
            server.revoke(NAME, 1, "because");
            await().until(() -> ranUntilDone(kept, result));
            assertThat(begun).hasValue(0);
            assertThatThrownBy(result::join)
                    .hasCauseInstanceOf(BackendUnavailableException.class)
                    .hasMessageContaining("too late");
        }
    }

    private SemaphoreClient calling(Link link, Executor callbacks) {
        return SemaphoreClient.builder(new MemoryBackend(server, new HolderInfo("host", 1, ""), link))
                .callbackExecutor(callbacks)
                .connect();
    }

    private static Executor allButTheFirst(Queue<Runnable> kept) {
        AtomicBoolean first = new AtomicBoolean(true);
        return task -> {
            if (first.getAndSet(false)) {
                task.run();
            } else {
                kept.add(task);
            }
        };
    }

    private static boolean ranUntilDone(Queue<Runnable> kept, CompletableFuture<?> future) {
        for (Runnable task = kept.poll(); task != null; task = kept.poll()) {
            task.run();
        }
        return future.isDone();
    }

    /** It may be an event loop, and the release asks the backend. */
    @Test
    void theReleaseOfATaskThatFailsIsNotDoneOnTheExecutorOfTheApplication() {
        releasesElsewhere(permit -> {
            throw new IllegalStateException("the task's");
        });
        releasesElsewhere(permit -> null);
    }

    private void releasesElsewhere(Function<Permit, @Nullable CompletionStage<Object>> task) {
        List<String> threads = new CopyOnWriteArrayList<>();
        Link noting = Link.with(what -> {}, what -> {
            if (what.equals("exchange")) {
                threads.add(Thread.currentThread().getName());
            }
        });
        ExecutorService own = Executors.newSingleThreadExecutor(run -> new Thread(run, "of the application"));
        try (SemaphoreClient calling = calling(noting, own)) {
            CompletableFuture<Object> result = calling.semaphore(NAME).withPermitAsync(Duration.ofSeconds(10), task);
            await().until(result::isCompletedExceptionally);
            assertThat(threads).hasSize(2).doesNotContain("of the application");
        } finally {
            own.shutdownNow();
        }
    }

    /** The line of a loss comes at the moment at which a thread takes the step that gives the slot back. */
    @Test
    void aLogThatStandsStillStopsNoSemaphore() throws Exception {
        Link cut = Link.with(
                what -> {
                    if (what.equals("renew")) {
                        throw new BackendUnavailableException("the link is cut", null);
                    }
                },
                what -> {});
        whileTheLogStandsStillAt("is lost: it was not renewed in time", Duration.ofMillis(300), cut, (own, lost) -> {
            await().until(() -> !lost.isValid());
            // Not one attempt: its session may end meanwhile.
            Permit next = own.semaphore(NAME).acquireAsync().get(5, TimeUnit.SECONDS);
            assertThat(next.slot()).isEqualTo(lost.slot());
            CompletableFuture.runAsync(own::close).get(5, TimeUnit.SECONDS);
        });
    }

    @Test
    void aLogThatStandsStillEndsNoRenewals() throws Exception {
        AtomicBoolean cut = new AtomicBoolean(true);
        CountDownLatch renewed = new CountDownLatch(1);
        Link shaky = Link.with(
                what -> {
                    if (what.equals("renew") && cut.getAndSet(false)) {
                        throw new BackendUnavailableException("the link is cut", null);
                    }
                },
                what -> {
                    if (what.equals("renew")) {
                        renewed.countDown();
                    }
                });
        whileTheLogStandsStillAt("failed, trying again", Duration.ofSeconds(6), shaky, (own, held) -> {
            assertThat(renewed.await(10, TimeUnit.SECONDS)).isTrue();
            assertThat(held.isValid()).isTrue();
        });
    }

    private void whileTheLogStandsStillAt(String line, Duration lease, Link link, DuringStandstill action)
            throws Exception {
        PrintStream before = System.err;
        System.setErr(new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8) {
            @Override
            public void println(@Nullable String written) {
                if (String.valueOf(written).contains(line)) {
                    asked.countDown();
                    passUninterruptibly(answer);
                }
            }
        });
        MemoryServer leasing = new MemoryServer(System::nanoTime, lease, MemoryServer.ALL, Runnable::run);
        MemoryBackend backend = new MemoryBackend(leasing, new HolderInfo("host", 1, ""), link);
        backend.admin().create(NAME, 1);
        try (SemaphoreClient own = SemaphoreClient.builder(backend).connect()) {
            Permit permit = own.semaphore(NAME).acquire();
            assertThat(asked.await(10, TimeUnit.SECONDS)).isTrue();
            try {
                action.perform(own, permit);
            } finally {
                answer.countDown();
            }
        } finally {
            answer.countDown();
            System.setErr(before);
        }
    }

    @Test
    void linesOfALogThatStandsStillTakeOneThreadAndBoundedMemory() {
        List<String> made = new CopyOnWriteArrayList<>();
        Environment environment = new RealEnvironment(null, name -> task -> {
            made.add(name);
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        });
        List<Integer> written = Collections.synchronizedList(new ArrayList<>());
        environment.log(() -> passUninterruptibly(answer));
        await().until(() -> made.stream().anyMatch(name -> name.endsWith("-log")));
        for (int i = 0; i < RealEnvironment.MOST_LINES + 5; i++) {
            int line = i;
            environment.log(() -> written.add(line));
        }
        environment.close();
        environment.log(() -> written.add(-1));
        answer.countDown();
        await().until(() -> written.size() == RealEnvironment.MOST_LINES);
        assertThat(written).isSorted().contains(0).doesNotContain(-1);
        assertThat(made).filteredOn(name -> name.endsWith("-log")).hasSize(1);
    }

    @FunctionalInterface
    private interface DuringStandstill {
        void perform(SemaphoreClient own, Permit permit) throws Exception;
    }

    /** Its only thread may be the one that asks. */
    @Test
    void anAnswerThatACallWaitsForNeedsNoExecutorOfTheApplication() throws Exception {
        MemoryBackend backend = new MemoryBackend(server, new HolderInfo("host", 1, ""));
        try (SemaphoreClient calling =
                SemaphoreClient.builder(backend).callbackExecutor(task -> {}).connect()) {
            calling.ping(Duration.ofSeconds(10));
            assertThat(calling.admin().awaitReleased(NAME, Duration.ofSeconds(10)))
                    .isTrue();
        }
    }

    @Test
    void aTaskForWhichNoThreadCanBeMadeIsTriedAgain() throws Exception {
        AtomicInteger failures = new AtomicInteger(2);
        Environment environment = new RealEnvironment(null, name -> task -> {
            if (name.endsWith("-worker") && failures.getAndDecrement() > 0) {
                throw new OutOfMemoryError("unable to create native thread (by the test)");
            }
            Thread thread = new Thread(task, name);
            thread.setDaemon(true);
            return thread;
        });
        CountDownLatch ran = new CountDownLatch(1);
        environment.execute(ran::countDown);
        assertThat(ran.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(failures).hasNegativeValue();
        environment.close();
    }

    @Test
    void tasksRunAlsoAfterCloseAndTimersDoNot() throws Exception {
        Environment environment = new RealEnvironment(null);
        AtomicInteger fired = new AtomicInteger();
        environment.schedule(fired::incrementAndGet, TimeUnit.MILLISECONDS.toNanos(20));
        environment.close();
        environment.schedule(fired::incrementAndGet, 1);
        CountDownLatch ran = new CountDownLatch(1);
        environment.execute(ran::countDown);
        assertThat(ran.await(10, TimeUnit.SECONDS)).isTrue();
        await().during(Duration.ofMillis(50)).until(() -> fired.get() == 0);
    }

    /** Bounded, as an interrupt does not end it: a test that goes wrong here fails instead of hanging its run. */
    private static void passUninterruptibly(CountDownLatch latch) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        boolean interrupted = false;
        boolean passed = false;
        while (!passed) {
            try {
                passed = latch.await(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                assertThat(passed).as("the test let go within 30 s").isTrue();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
