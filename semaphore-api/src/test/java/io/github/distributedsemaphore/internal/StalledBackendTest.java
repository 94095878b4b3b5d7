package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.memory.Link;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SessionListener;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Calls with a time of their own while the backend stands still, and the end of a client that meets one. */
class StalledBackendTest {
    private static final String NAME = "exports";

    /** Far less than the 10 s of a stall; that it is 100 ms, the kit measures. */
    private static final Duration SLACK = Duration.ofSeconds(4);

    private final MemoryServer server = new MemoryServer();
    private final CountDownLatch over = new CountDownLatch(1);
    private final Set<String> stalled = ConcurrentHashMap.newKeySet();
    private final Set<String> reached = ConcurrentHashMap.newKeySet();
    private final Set<String> failing = ConcurrentHashMap.newKeySet();

    private final SemaphoreClient client = SemaphoreClient.builder(
                    new MemoryBackend(server, new HolderInfo("host", 1, ""), Link.with(this::pass, what -> {})) {
                        @Override
                        public void ping() {
                            pass("ping");
                        }

                        @Override
                        public void close() {
                            pass("backend.close");
                        }

                        @Override
                        public BackendSession open(String name, SessionListener listener) {
                            BackendSession session = super.open(name, listener);
                            return (BackendSession) Proxy.newProxyInstance(
                                    getClass().getClassLoader(),
                                    new Class<?>[] {BackendSession.class},
                                    (proxy, method, arguments) -> {
                                        if (method.getName().equals("close")) {
                                            pass("session.close");
                                        }
                                        return method.invoke(session, arguments);
                                    });
                        }
                    })
            .connect();

    private void pass(String what) {
        reached.add(what);
        if (failing.contains(what)) {
            throw new IllegalStateException("an adapter's bug in " + what);
        }
        if (stalled.contains(what)) {
            standStill();
        }
    }

    /** An interrupt does not end it; bounded, so that a test that goes wrong fails instead of hanging its run. */
    private void standStill() {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        boolean interrupted = false;
        while (over.getCount() > 0 && System.nanoTime() - end < 0) {
            try {
                assertThat(over.await(end - System.nanoTime(), TimeUnit.NANOSECONDS))
                        .as("the test let go within 10 s")
                        .isTrue();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @BeforeEach
    void create() {
        client.admin().create(NAME, 2);
    }

    @AfterEach
    void close() {
        over.countDown();
        client.close();
    }

    private static <T> FutureTask<T> inThread(Callable<T> call) {
        FutureTask<T> task = new FutureTask<>(call);
        Thread thread = new Thread(task, "caller");
        thread.setDaemon(true);
        thread.start();
        return task;
    }

    private void interruptsWithin(String what, Callable<?> call) throws Exception {
        CountDownLatch ended = new CountDownLatch(1);
        Throwable[] end = new Throwable[1];
        Thread caller = new Thread(() -> {
            try {
                call.call();
            } catch (Exception e) {
                end[0] = e;
            }
            ended.countDown();
        });
        caller.setDaemon(true);
        caller.start();
        await().until(() -> reached.contains(what));
        caller.interrupt();
        assertThat(ended.await(SLACK.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
        assertThat(end[0]).isInstanceOf(InterruptedException.class);
    }

    /** It may be over before the call is put down. */
    @Test
    void aFutureWithNextToNoTimeEndsAlsoIfTheBackendStandsStill() {
        stalled.add("exchange");
        assertThat(client.semaphore(NAME).acquireAsync(Duration.ofNanos(1)))
                .failsWithin(SLACK)
                .withThrowableOfType(ExecutionException.class)
                .withCauseInstanceOf(SemaphoreTimeoutException.class);
    }

    @Test
    void aPingIsAnswered() throws InterruptedException {
        client.ping(Duration.ofSeconds(10));
        assertThat(reached).contains("ping");
    }

    @Test
    void aPingToABackendThatStandsStillEndsInTimeAndSaysHowLongItWaited() {
        stalled.add("ping");
        long start = System.nanoTime();
        assertThatThrownBy(() -> client.ping(Duration.ofMillis(150)))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContainingAll("'memory'", "150ms");
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .isBetween(Duration.ofMillis(150), SLACK.plusMillis(150));
    }

    @Test
    void aPingCanBeInterrupted() throws Exception {
        stalled.add("ping");
        interruptsWithin("ping", () -> {
            client.ping(Duration.ofMinutes(1));
            return null;
        });
    }

    @Test
    void aPingSaysWhatTheBackendSaysAndRefusesNoTimeAtAll() throws InterruptedException {
        MemoryBackend refusing = new MemoryBackend(server, new HolderInfo("host", 1, "")) {
            @Override
            public void ping() {
                throw new BackendAccessException("wrong password", null);
            }
        };
        try (SemaphoreClient refused = SemaphoreClient.builder(refusing).connect()) {
            assertThatThrownBy(() -> refused.ping(Duration.ofSeconds(10)))
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("wrong password");
            assertThatThrownBy(() -> refused.ping(Duration.ZERO)).isInstanceOf(IllegalArgumentException.class);
            refused.abort();
            assertThatThrownBy(() -> refused.ping(Duration.ofSeconds(10))).isInstanceOf(SemaphoreClosedException.class);
        }
    }

    @Test
    void aPingThatMeetsTheEndOfItsClientSaysThatItIsClosed() {
        pingEndsAsClosed(() -> {
            throw new BackendUnavailableException("the connection is closed", null);
        });
        pingEndsAsClosed(this::standStill);
    }

    private void pingEndsAsClosed(Runnable afterTheEnd) {
        AtomicReference<SemaphoreClient> ending = new AtomicReference<>();
        MemoryBackend backend = new MemoryBackend(server, new HolderInfo("host", 1, "")) {
            @Override
            public void ping() {
                ending.get().abort();
                afterTheEnd.run();
            }
        };
        ending.set(SemaphoreClient.builder(backend).connect());
        assertThatThrownBy(() -> ending.get().ping(Duration.ofSeconds(2))).isInstanceOf(SemaphoreClosedException.class);
    }

    @Test
    void awaitingReleasesEndsInTimeAlsoIfTheBackendStandsStill() {
        stalled.add("retiredHolders");
        long start = System.nanoTime();
        assertThatThrownBy(() -> client.admin().awaitReleased(NAME, Duration.ofMillis(150)))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContainingAll("'" + NAME + "'", "150ms");
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(SLACK.plusMillis(150));
    }

    @Test
    void awaitingReleasesCanBeInterruptedAlsoIfTheBackendStandsStill() throws Exception {
        stalled.add("retiredHolders");
        interruptsWithin("retiredHolders", () -> client.admin().awaitReleased(NAME, Duration.ofMinutes(1)));
        interruptsWithin("retiredHolders", () -> client.admin().awaitReleased(NAME, Duration.ZERO));
    }

    @Test
    void aSecondCloseWaitsForTheFirst() throws Exception {
        stalled.add("backend.close");
        FutureTask<Boolean> first = inThread(() -> {
            client.close();
            return true;
        });
        await().until(() -> reached.contains("backend.close"));
        CountDownLatch began = new CountDownLatch(1);
        FutureTask<Boolean> second = inThread(() -> {
            Thread.currentThread().interrupt();
            began.countDown();
            client.close();
            return Thread.interrupted();
        });
        assertThat(began.await(10, TimeUnit.SECONDS)).isTrue();
        await().during(Duration.ofMillis(100)).until(() -> !second.isDone() && !first.isDone());
        client.abort(); // does not wait
        over.countDown();
        assertThat(second.get(10, TimeUnit.SECONDS)).as("keeps the interrupt").isTrue();
        assertThat(first.get(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void closeThrowsNothingAndClosesTheRestWhateverAnAdapterThrows() throws Exception {
        client.admin().create("second", 1);
        assertThat(client.semaphore(NAME).tryAcquire()).isPresent();
        assertThat(client.semaphore("second").tryAcquire()).isPresent();
        failing.add("session.close");
        failing.add("backend.close");
        Thread worker = workerOf(client);
        client.close();
        assertThat(reached).contains("session.close", "backend.close");
        // Its threads end with it: the worker that is idle, too.
        await().until(() -> !worker.isAlive());
    }

    private static Thread workerOf(SemaphoreClient client) throws InterruptedException, ExecutionException {
        client.admin().create("third", 1);
        return client.semaphore("third")
                .withPermitAsync(
                        Duration.ofSeconds(10), permit -> CompletableFuture.completedFuture(Thread.currentThread()))
                .get();
    }

    /** Each may take as long as a request: a call with one attempt, or a release, would outlast the bound of an operation. */
    @Test
    void anAttemptAndAReleaseGoAheadOfASecondWatch() {
        goesAheadOfASecondWatch((stage, held) -> stage.semaphore.acquireAsync(Duration.ZERO));
        goesAheadOfASecondWatch((stage, held) -> held.releaseAsync());
    }

    private static void goesAheadOfASecondWatch(BiFunction<Stage, Permit, CompletableFuture<?>> call) {
        Stage stage = new Stage(2, "recheck=1m");
        Permit held = stage.take();
        stage.takeAsOther();
        List<String> steps = new ArrayList<>();
        stage.before("exchange", () -> steps.add("that of the waiter"));
        stage.before("exchange", () -> steps.add("exchange"));
        stage.before("watch", () -> {
            steps.add("watch");
            // The waiter gives up meanwhile, and leaves a place to be given up by another watch.
            stage.passMillis(5_000);
            CompletableFuture<?> unused = call.apply(stage, held);
            throw new BackendUnavailableException("no answer", null);
        });
        stage.before("watch", () -> steps.add("another watch"));
        CompletableFuture<?> unused = stage.semaphore.acquireAsync(Duration.ofMillis(200));
        stage.passMillis(10_000);
        assertThat(steps).containsExactly("that of the waiter", "watch", "exchange", "another watch");
    }

    /** One exchange that was not answered is enough: with the watch and its own one a call would outlast its bound. */
    @Test
    void anAttemptThatCameDuringAFailureGoesAheadOfTheWatchToo() {
        Stage stage = new Stage(1);
        stage.takeAsOther();
        List<String> steps = new ArrayList<>();
        stage.before("exchange", () -> {
            CompletableFuture<?> unused = stage.semaphore.acquireAsync(Duration.ZERO);
        });
        stage.before("exchange", () -> {
            steps.add("exchange");
            stage.passMillis(10);
            CompletableFuture<?> unused = stage.semaphore.acquireAsync(Duration.ZERO);
            throw new BackendUnavailableException("no connection", null);
        });
        stage.before("exchange", () -> steps.add("another exchange"));
        stage.before("watch", () -> steps.add("watch"));
        CompletableFuture<?> unused = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(steps).startsWith("exchange", "another exchange");
    }

    @Test
    void attemptsWithoutAPauseKeepNoWaiterFromItsWatch() {
        Stage stage = new Stage(1);
        stage.takeAsOther();
        for (int i = 0; i < 20; i++) {
            stage.before("exchange", () -> {
                CompletableFuture<?> unused = stage.semaphore.acquireAsync(Duration.ZERO);
            });
        }
        List<Integer> exchanges = new ArrayList<>();
        stage.before("watch", () -> exchanges.add(stage.calls("exchange")));
        CompletableFuture<?> unused = stage.semaphore.acquireAsync();
        stage.settle();
        assertThat(exchanges)
                .as("exchanges before the watch, with that of the waiter")
                .singleElement()
                .satisfies(before -> assertThat(before).isLessThanOrEqualTo(2));
    }
}
