package io.github.distributedsemaphore.reactor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.hamcrest.Matchers.equalTo;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Holding;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.PermitLostException;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Hooks;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Operators;
import reactor.core.publisher.Sinks;
import reactor.core.scheduler.Schedulers;

final class ReactorPermitsTest {
    private static final Duration LONG = Duration.ofSeconds(30);

    private SemaphoreClient client;
    private DistributedSemaphore exports;
    /** How many callbacks are not called from now on. */
    private final AtomicInteger withheld = new AtomicInteger();

    @BeforeEach
    void connect(@TempDir Path folder) {
        client = SemaphoreClient.builder("local:" + folder)
                .callbackExecutor(this::callBack)
                .connect();
        client.admin().create("exports", 3);
        exports = client.semaphore("exports");
    }

    private void callBack(Runnable news) {
        if (withheld.getAndUpdate(left -> Math.max(0, left - 1)) == 0) {
            news.run();
        }
    }

    @AfterEach
    void close() {
        client.close();
    }

    @Test
    void aResultArrivesAfterTheRelease() {
        Mono<Integer> work = ReactorPermits.withPermit(exports, LONG, permit -> Mono.just(permit.slot()));

        assertThat(work.map(slot -> slot + ":" + exports.availablePermits()).block())
                .matches("[123]:3");
    }

    @Test
    void aFailureArrivesAfterTheRelease() {
        Mono<Object> work =
                ReactorPermits.withPermit(exports, LONG, permit -> Mono.error(new IllegalStateException("broken")));

        assertThat(work.onErrorResume(e -> Mono.just(e.getMessage() + " " + exports.availablePermits()))
                        .block())
                .isEqualTo("broken 3");
    }

    @Test
    void workThatThrowsAtOnceReleasesToo() {
        Mono<Object> work = ReactorPermits.withPermit(exports, LONG, permit -> {
            throw new IllegalStateException("broken");
        });

        assertThatThrownBy(work::block).hasMessage("broken");
        assertThat(exports.availablePermits()).isEqualTo(3);
    }

    @Test
    void workThatThrowsAnErrorOfTheJvmReleasesToo() {
        Mono<Object> work = ReactorPermits.withPermit(exports, LONG, permit -> {
            throw new NoSuchMethodError("broken");
        });

        assertThat(work.toFuture())
                .failsWithin(Duration.ofSeconds(10))
                .withThrowableThat()
                .withMessageContaining("broken");
        assertThat(exports.availablePermits()).isEqualTo(3);
    }

    @Test
    void aCancellationWhileTheFunctionRunsReleasesAfterIt() throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(1);
        CompletableFuture<String> goesOn = new CompletableFuture<>();
        AtomicBoolean subscribed = new AtomicBoolean();
        Disposable work = ReactorPermits.withPermit(exports, LONG, permit -> {
                    begun.countDown();
                    assertThat(goesOn.join()).isNotNull();
                    return Mono.fromRunnable(() -> subscribed.set(true));
                })
                .subscribe();
        begun.await();

        work.dispose();

        assertThat(exports.statistics().released()).isZero();
        goesOn.complete("");
        await().untilAsserted(() -> assertThat(exports.availablePermits()).isEqualTo(3));
        assertThat(subscribed).isFalse();
    }

    @Test
    void nothingIsTakenBeforeTheSubscriptionAndEachSubscriptionTakesItsOwn() {
        AtomicInteger runs = new AtomicInteger();
        Mono<Integer> work = ReactorPermits.withPermit(exports, LONG, permit -> {
            assertThat(exports.availablePermits()).isEqualTo(2);
            return runs.incrementAndGet() < 3 ? Mono.error(new IllegalStateException("again")) : Mono.just(runs.get());
        });
        assertThat(exports.availablePermits()).isEqualTo(3);

        assertThat(work.retry(5).block()).isEqualTo(3);
        assertThat(exports.statistics().released()).isEqualTo(3);
    }

    @Test
    void severalPermitsAndManyResults() {
        Flux<Integer> work = ReactorPermits.using(
                () -> exports.acquireAsync(2, LONG),
                group -> Flux.fromIterable(group.permits()).map(Permit::slot));

        assertThat(work.collectList().block()).hasSize(2);
        assertThat(exports.availablePermits()).isEqualTo(3);
    }

    @Test
    void aTimeOutRunsNothing() throws InterruptedException {
        AtomicBoolean ran = new AtomicBoolean();
        try (var all = exports.acquire(3)) {
            Mono<Object> work = ReactorPermits.withPermit(
                    exports, Duration.ofMillis(20), permit -> Mono.fromRunnable(() -> ran.set(true)));
            assertThatThrownBy(work::block).isInstanceOf(SemaphoreTimeoutException.class);
            assertThat(all.isValid()).isTrue();
        }
        assertThat(ran).isFalse();
    }

    @Test
    void aLossFailsTheWorkAndCancelsIt() {
        AtomicBoolean begun = new AtomicBoolean();
        AtomicBoolean cancelled = new AtomicBoolean();
        CompletableFuture<Object> outcome = ReactorPermits.withPermit(
                        exports,
                        LONG,
                        permit -> Mono.never()
                                .doOnSubscribe(work -> begun.set(true))
                                .doOnCancel(() -> cancelled.set(true)))
                .toFuture();
        await().untilTrue(begun);

        client.abort();

        assertThatThrownBy(outcome::join).hasCauseInstanceOf(PermitLostException.class);
        await().untilTrue(cancelled);
    }

    private CompletableFuture<String> endsBeforeTheNewsOfItsLoss(Mono<String> end) {
        Sinks.Empty<String> ended = Sinks.empty();
        CompletableFuture<String> outcome = ReactorPermits.withPermit(
                        exports, LONG, permit -> ended.asMono().then(end))
                .toFuture();
        await().until(() -> ended.currentSubscriberCount() == 1);

        abortInSilence();
        ended.tryEmitEmpty();
        return outcome;
    }

    /** The one listener is not told. */
    private void abortInSilence() {
        withheld.set(1);
        client.abort();
        await().untilAtomic(withheld, equalTo(0));
    }

    @Test
    void workThatEndsBeforeTheNewsOfItsLossFailsToo() {
        assertThatThrownBy(endsBeforeTheNewsOfItsLoss(Mono.just("done"))::join)
                .hasCauseInstanceOf(PermitLostException.class);
    }

    @Test
    void workThatFailsBeforeTheNewsOfItsLossTellsTheLoss() {
        assertLossIsTold(new IllegalStateException("broken"));
    }

    @Test
    void workThatFailsWithTheLossOfAnotherSemaphoreBeforeTheNewsOfItsOwnTellsItsOwn() {
        assertLossIsTold(new PermitLostException(new PermitLoss("other", 1, LossCause.TAKEN_BY_BACKEND, "because")));
    }

    private void assertLossIsTold(RuntimeException failure) {
        assertThatThrownBy(endsBeforeTheNewsOfItsLoss(Mono.error(failure))::join)
                .cause()
                .hasMessageContaining("semaphore 'exports' is lost")
                .hasCause(failure);
    }

    @Test
    void workUnderAPermitOfItsCallerFailsTooIfItEndsBeforeTheNewsOfTheLoss() throws InterruptedException {
        Permit permit = exports.acquire();
        Sinks.Empty<String> ended = Sinks.empty();
        CompletableFuture<Void> outcome =
                ReactorPermits.failOnLoss(permit, ended.asMono()).then().toFuture();

        abortInSilence();
        ended.tryEmitEmpty();

        assertThatThrownBy(outcome::join).hasCauseInstanceOf(PermitLostException.class);
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void workThatReleasesThePermitOfItsCallerEndsWell() throws InterruptedException {
        Permit permit = exports.acquire();
        assertThat(ReactorPermits.failOnLoss(permit, Mono.fromFuture(permit::releaseAsync))
                        .blockLast())
                .isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void workRunsOnAnotherThreadThanTheSubscriberAlsoIfThePermitIsThereAtOnce() {
        Flux<Thread> work = ReactorPermits.using(
                () -> {
                    CompletableFuture<Permit> acquiring = exports.acquireAsync(LONG);
                    acquiring.join();
                    return acquiring;
                },
                permit -> Mono.fromSupplier(Thread::currentThread));

        assertThat(work.blockLast()).isNotSameAs(Thread.currentThread());
        assertThat(exports.availablePermits()).isEqualTo(3);
    }

    @Test
    void aPermitThatIsHeldForLongKeepsNothingOfTheWorkThatHasEnded() throws InterruptedException {
        try (Permit permit = exports.acquire()) {
            WeakReference<Object> ended = endedWork(permit);
            await().until(() -> {
                System.gc();
                return ended.get() == null;
            });
            assertThat(permit.isValid()).isTrue();
        }
    }

    private static WeakReference<Object> endedWork(Permit permit) {
        Object job = new Object();
        ReactorPermits.failOnLoss(permit, Mono.fromSupplier(job::hashCode))
                .doOnNext(result -> assertThat(result).isEqualTo(job.hashCode()))
                .blockLast();
        return new WeakReference<>(job);
    }

    @Test
    void aPermitThatIsHeldForLongHasOneListenerForAllWorkThatHasEnded() throws InterruptedException {
        AtomicInteger listeners = new AtomicInteger();
        try (Permit permit = exports.acquire()) {
            Holding counted = (Holding) Proxy.newProxyInstance(
                    Holding.class.getClassLoader(), new Class<?>[] {Holding.class}, (proxy, method, arguments) -> {
                        listeners.addAndGet(method.getName().equals("onLost") ? 1 : 0);
                        return method.invoke(permit, arguments);
                    });
            for (int i = 0; i < 100; i++) {
                assertThat(ReactorPermits.failOnLoss(counted, Mono.just(i)).blockLast())
                        .isEqualTo(i);
            }
            assertThat(listeners).hasValue(1);
        }
    }

    @Test
    void workThatNeverEndsKeepsNoPermitThatIsForgotten() throws InterruptedException {
        WeakReference<Permit> forgotten = releasedBeforeItsWorkEnds();
        await().until(() -> {
            System.gc();
            return forgotten.get() == null;
        });
    }

    private WeakReference<Permit> releasedBeforeItsWorkEnds() throws InterruptedException {
        try (Permit permit = exports.acquire()) {
            Disposable unused = ReactorPermits.failOnLoss(permit, Mono.never().doOnCancel(permit::isValid))
                    .subscribe();
            return new WeakReference<>(permit);
        }
    }

    @Test
    void aLossFailsEachWorkUnderAPermitAlsoIfAnotherOneBlocks() throws InterruptedException {
        Permit permit = exports.acquire();
        CountDownLatch end = new CountDownLatch(1);
        List<CompletableFuture<?>> works = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            works.add(ReactorPermits.failOnLoss(permit, Mono.never())
                    .doOnError(loss -> await().until(() -> end.getCount() == 0))
                    .then()
                    .toFuture());
        }
        AtomicInteger failing = new AtomicInteger();
        Disposable unused = ReactorPermits.failOnLoss(permit, Mono.never())
                .subscribe(result -> {}, loss -> failing.incrementAndGet());

        client.abort();

        await().until(() -> failing.get() == 1);
        end.countDown();
        works.add(ReactorPermits.failOnLoss(permit, Mono.never()).then().toFuture());
        assertThat(works)
                .allSatisfy(work -> assertThatThrownBy(work::join).hasCauseInstanceOf(PermitLostException.class));
    }

    @Test
    void aHundredThousandCancelledWaitsLeaveNothingHeld() throws InterruptedException {
        BlockingQueue<Disposable> begun = new ArrayBlockingQueue<>(50);
        Thread canceller = new Thread(() -> cancelAll(begun), "canceller");
        canceller.start();
        for (int i = 0; i < 100_000; i++) {
            begun.put(ReactorPermits.withPermit(exports, LONG, permit -> Mono.never())
                    .subscribe());
        }
        canceller.join();

        await().atMost(LONG).untilAsserted(() -> {
            SemaphoreStatistics end = exports.statistics();
            assertThat(end.held()).isZero();
            assertThat(end.waiting()).isZero();
            assertThat(exports.availablePermits()).isEqualTo(3);
        });
        SemaphoreStatistics end = exports.statistics();
        assertThat(end.withdrawn()).as("cancelled in time").isPositive();
        assertThat(end.released()).as("cancelled while they held").isPositive();
        assertThat(end.lost().values()).containsOnly(0L);
    }

    /** Tracing agents install such hooks. Behind one, a source that knows its value at once looks like any other. */
    @Test
    void aCancelWhileTheAcquireBeginsGivesThePermitBackAlsoBehindAHook() throws InterruptedException {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch cancelled = new CountDownLatch(1);
        Hooks.onEachOperator("identity", Operators.lift((scannable, subscriber) -> subscriber));
        try {
            Disposable work = ReactorPermits.using(
                            () -> {
                                entered.countDown();
                                while (cancelled.getCount() > 0) {
                                    Thread.onSpinWait(); // the cancellation interrupts this thread
                                }
                                return exports.acquireAsync(LONG);
                            },
                            permit -> Mono.never())
                    .subscribeOn(Schedulers.boundedElastic())
                    .subscribe();
            assertThat(entered.await(30, TimeUnit.SECONDS)).isTrue();
            work.dispose();
            cancelled.countDown();

            await().untilAsserted(() -> {
                SemaphoreStatistics end = exports.statistics();
                assertThat(end.withdrawn() + end.released()).isEqualTo(1);
                assertThat(end.held()).isZero();
            });
        } finally {
            Hooks.resetOnEachOperator("identity");
        }
    }

    private static void cancelAll(BlockingQueue<Disposable> begun) {
        try {
            for (int i = 0; i < 100_000; i++) {
                begun.take().dispose();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
