package io.github.distributedsemaphore.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Holding;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.test.TestSemaphores;
import io.micrometer.common.KeyValue;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ObservedSemaphoreTest {
    private final TestSemaphores semaphores = TestSemaphores.manual();
    private final List<Observation.Context> ended = new CopyOnWriteArrayList<>();
    private final ObservationRegistry registry = ObservationRegistry.create();
    private final DistributedSemaphore exports;

    ObservedSemaphoreTest() {
        registry.observationConfig().observationHandler(new Ending(ended::add));
        exports = new ObservedSemaphore(semaphores.create("exports", 1), registry);
    }

    @AfterEach
    void close() {
        semaphores.close();
    }

    private String outcome() {
        Observation.Context last = ended.get(ended.size() - 1);
        assertThat(last.getName()).isEqualTo("distributed.semaphore.wait");
        assertThat(last.getContextualName()).isEqualTo("acquire exports");
        assertThat(last.getLowCardinalityKeyValue("semaphore")).isEqualTo(KeyValue.of("semaphore", "exports"));
        KeyValue outcome = last.getLowCardinalityKeyValue("outcome");
        return outcome == null ? "none" : outcome.getValue();
    }

    @Test
    void aPermitThatIsGrantedOrRefusedEndsTheObservation() {
        Permit permit = exports.tryAcquire().orElseThrow();
        assertThat(outcome()).isEqualTo("granted");
        assertThat(ended.get(0).getHighCardinalityKeyValue("slot")).isEqualTo(KeyValue.of("slot", "1"));
        assertThat(exports.tryAcquire()).isEmpty();
        assertThat(outcome()).isEqualTo("refused");
        permit.release();
        assertThat(ended).hasSize(2);
    }

    @Test
    void aFutureIsObservedUntilItEnds() {
        Permit permit = exports.acquireAsync().join();
        CompletableFuture<Permit> late = exports.acquireAsync(Duration.ofSeconds(1));
        // The caller may go on before what depends on its future has run.
        await().untilAsserted(() -> assertThat(ended).hasSize(1));
        semaphores.advance(Duration.ofSeconds(1));
        assertThat(late).isCompletedExceptionally();
        await().untilAsserted(() -> assertThat(outcome()).isEqualTo("timed_out"));
        CompletableFuture<Permit> left = exports.acquireAsync();
        left.cancel(false);
        assertThat(outcome()).isEqualTo("withdrawn");
        permit.release();
        semaphores.assertNothingHeld();
    }

    @Test
    void theObservationOfAFutureEndsBeforeWhatItsCallerChains() {
        Permit permit = exports.tryAcquire().orElseThrow();
        CompletableFuture<Integer> endedThen = exports.acquireAsync().thenApply(granted -> {
            granted.close();
            return ended.size();
        });
        CompletableFuture<Integer> endedInVain = exports.withPermitAsync(
                        Duration.ofSeconds(1), held -> CompletableFuture.completedFuture(""))
                .handle((result, failure) -> failure == null ? -1 : ended.size());
        semaphores.advance(Duration.ofSeconds(2));
        assertThat(endedInVain.join()).isEqualTo(2);
        permit.release();
        semaphores.advance(Duration.ZERO);
        assertThat(endedThen.join()).isEqualTo(3);
    }

    @Test
    void whatIsGrantedWhileItsCallerCancelsGoesBack() {
        DistributedSemaphore pairs = semaphores.create("pairs", 2);
        assertThat(cancelledWhenGranted(observed -> observed.acquireAsync(), pairs))
                .isTrue();
        assertThat(cancelledWhenGranted(observed -> observed.acquireAsync(2), pairs))
                .isTrue();
        assertThat(pairs.statistics().withdrawn()).isZero();
    }

    /** Takes all permits for as long as the call waits, and cancels in the handler of its observation. */
    private boolean cancelledWhenGranted(
            Function<DistributedSemaphore, CompletableFuture<? extends Holding>> call, DistributedSemaphore pairs) {
        AtomicReference<CompletableFuture<? extends Holding>> handedOut = new AtomicReference<>();
        ObservationRegistry cancelling = ObservationRegistry.create();
        cancelling
                .observationConfig()
                .observationHandler(new Ending(stopped -> handedOut.get().cancel(false)));
        PermitGroup all = pairs.tryAcquire(2).orElseThrow();
        handedOut.set(call.apply(new ObservedSemaphore(pairs, cancelling)));
        all.close();
        semaphores.assertNothingHeld();
        return handedOut.get().isCancelled();
    }

    private record Ending(Consumer<Observation.Context> action) implements ObservationHandler<Observation.Context> {
        @Override
        public void onStop(Observation.Context context) {
            action.accept(context);
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return true;
        }
    }

    @Test
    void aTaskIsObservedUntilItBegins() {
        CompletableFuture<String> task = new CompletableFuture<>();
        CompletableFuture<String> done = exports.withPermitAsync(Duration.ofSeconds(1), permit -> task);
        semaphores.advance(Duration.ZERO);
        assertThat(outcome()).isEqualTo("granted");
        task.complete("done");
        assertThat(done.join()).isEqualTo("done");
        assertThat(ended).hasSize(1);
    }

    @Test
    void aTaskThatItsCallerGivesUpIsWithdrawn() {
        Permit permit = exports.tryAcquire().orElseThrow();
        CompletableFuture<String> completed =
                exports.withPermitAsync(Duration.ofMinutes(1), held -> CompletableFuture.completedFuture("done"));
        completed.complete("of another place");
        assertThat(ended).hasSize(2);
        assertThat(outcome()).isEqualTo("withdrawn");
        CompletableFuture<Permit> failed = exports.acquireAsync();
        failed.completeExceptionally(new TimeoutException());
        assertThat(ended).hasSize(3);
        assertThat(outcome()).isEqualTo("withdrawn");
        permit.release();
        semaphores.assertNothingHeld();
    }

    @Test
    void aFailureIsKept() {
        DistributedSemaphore missing = new ObservedSemaphore(semaphores.client().semaphore("missing"), registry);
        assertThatThrownBy(missing::tryAcquire).isInstanceOf(NoSuchSemaphoreException.class);
        assertThat(ended.get(0).getError()).isInstanceOf(NoSuchSemaphoreException.class);
    }

    @Test
    void aCallThatWaitedInVainTimedOutAsTheMetersSay() {
        Permit permit = exports.tryAcquire().orElseThrow();
        CompletableFuture<Boolean> late =
                CompletableFuture.supplyAsync(() -> waitedInVain(() -> exports.tryAcquire(Duration.ofSeconds(1))));
        await().until(() -> exports.statistics().waiting() == 1);
        semaphores.advance(Duration.ofSeconds(1));
        assertThat(late.join()).isTrue();
        assertThat(outcome()).isEqualTo("timed_out");
        assertThat(waitedInVain(() -> exports.tryAcquire(Duration.ZERO))).isTrue();
        assertThat(outcome()).isEqualTo("refused");
        permit.release();
    }

    private static boolean waitedInVain(Callable<Optional<Permit>> call) {
        try {
            return call.call().isEmpty();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aSingleAttemptThatThrowsIsRefusedAsTheMetersSay() {
        Permit permit = exports.tryAcquire().orElseThrow();
        assertThatThrownBy(() -> exports.acquire(Duration.ZERO)).isInstanceOf(SemaphoreTimeoutException.class);
        assertThat(outcome()).isEqualTo("refused");
        CompletableFuture<Permit> later = exports.acquireAsync(Duration.ZERO);
        semaphores.advance(Duration.ZERO);
        assertThat(later).isCompletedExceptionally();
        await().untilAsserted(() -> assertThat(ended).hasSize(3));
        assertThat(outcome()).isEqualTo("refused");
        assertThat(exports.statistics().refused()).isEqualTo(2);
        assertThat(exports.statistics().timedOut()).isZero();
        permit.release();
    }

    @Test
    void aCallThatIsRefusedAtOnceEndsItsObservation() {
        assertThatThrownBy(() -> exports.acquireAsync(0)).isInstanceOf(IllegalArgumentException.class);
        assertThat(outcome()).isEqualTo("failed");
        assertThatThrownBy(() -> exports.acquireAsync(0, Duration.ofSeconds(1)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(ended).hasSize(2);
    }

    @Test
    void aHandlerThatThrowsChangesNoResult() {
        assertNoResultChanges(new IllegalStateException("a handler that is broken"));
        assertNoResultChanges(new NoSuchMethodError("a handler of another version"));
        assertNoResultChanges(new IOException("a handler in Kotlin"));
    }

    private void assertNoResultChanges(Throwable ofHandler) {
        ObservationRegistry broken = ObservationRegistry.create();
        broken.observationConfig().observationHandler(new Broken(ofHandler));
        DistributedSemaphore observed =
                new ObservedSemaphore(semaphores.client().semaphore("exports"), broken);
        observed.tryAcquire().orElseThrow().release();
        CompletableFuture<String> done =
                observed.withPermitAsync(Duration.ofSeconds(1), permit -> CompletableFuture.completedFuture("done"));
        semaphores.advance(Duration.ZERO);
        assertThat(done.join()).isEqualTo("done");
        DistributedSemaphore missing = new ObservedSemaphore(semaphores.client().semaphore("missing"), broken);
        assertThatThrownBy(missing::tryAcquire).isInstanceOf(NoSuchSemaphoreException.class);
        semaphores.assertNothingHeld();
    }

    private record Broken(Throwable failure) implements ObservationHandler<Observation.Context> {
        @Override
        public void onError(Observation.Context context) {
            Broken.<RuntimeException>fail(failure);
        }

        @Override
        public void onStop(Observation.Context context) {
            Broken.<RuntimeException>fail(failure);
        }

        /** Kotlin throws checked exceptions where Java declares none. */
        @SuppressWarnings("unchecked")
        private static <X extends Throwable> void fail(Throwable failure) throws X {
            throw (X) failure;
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return true;
        }
    }
}
