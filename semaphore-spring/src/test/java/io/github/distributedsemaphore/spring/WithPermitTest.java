package io.github.distributedsemaphore.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLostException;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.spring.WithPermit.IfFull;
import io.github.distributedsemaphore.spring.WithPermit.OnLoss;
import java.io.IOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

final class WithPermitTest {
    private TestContext context;
    private Exports exports;
    private State state;

    @BeforeEach
    void start(@TempDir Path folder) {
        context = TestContext.of(folder, Exports.class, State.class, Names.class);
        exports = context.bean(Exports.class);
        state = context.bean(State.class);
    }

    @AfterEach
    void close() {
        context.close();
    }

    static class Names {
        public String of(String tenant) {
            return "tenant-" + tenant;
        }
    }

    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    @WithPermit("exports")
    @interface Export {}

    /** Apart from the bean, since the fields of its proxy are empty. */
    static class State {
        final CountDownLatch begun = new CountDownLatch(1);
        final CompletableFuture<String> stage = new CompletableFuture<>();
        final AtomicReference<Throwable> seen = new AtomicReference<>();
    }

    static class Exports {
        private final State state;

        Exports(State state) {
            this.state = state;
        }

        @WithPermit("exports")
        int slot() {
            return CurrentPermit.require("exports").slot();
        }

        @WithPermit("exports")
        void fail() throws IOException {
            throw new IOException("broken");
        }

        @Export
        int byOwnAnnotation() {
            return CurrentPermit.get().slot();
        }

        @WithPermit("${exports.name}")
        int byPlaceholder() {
            return CurrentPermit.get().slot();
        }

        @WithPermit("export-#{#tenant}")
        String byArgument(String tenant) {
            return CurrentPermit.get().semaphoreName();
        }

        @WithPermit("#{@'withPermitTest.Names'.of(#p0)}")
        String byBean(String tenant) {
            return CurrentPermit.get().semaphoreName();
        }

        @WithPermit(name = "exports", permits = "#{#weight}")
        int several(int weight) {
            return CurrentPermit.all().size();
        }

        @WithPermit(name = "exports", maxWait = "${exports.wait}")
        void impatient() {}

        @WithPermit(name = "exports", maxWait = "0s", ifFull = IfFull.SKIP)
        Optional<String> skippedOptional() {
            return Optional.of("ran");
        }

        @WithPermit(name = "exports", maxWait = "0s", ifFull = IfFull.SKIP)
        String skipped() {
            return "ran";
        }

        @WithPermit(name = "exports", maxWait = "0s", ifFull = IfFull.SKIP)
        CompletableFuture<Optional<String>> skippedFuture() {
            return CompletableFuture.completedFuture(Optional.of("ran"));
        }

        @WithPermit(name = "exports", maxWait = "0s", ifFull = IfFull.SKIP)
        Mono<String> skippedMono() {
            return Mono.just("ran");
        }

        @WithPermit("exports")
        void nested(Exports proxy) {
            proxy.slot();
        }

        @WithPermit("exports")
        void untilInterrupted() {
            state.begun.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                state.seen.set(e);
                throw new IllegalStateException("stopped", e);
            }
        }

        @WithPermit("exports")
        String untilDone() {
            state.begun.countDown();
            return state.stage.join();
        }

        @WithPermit("exports")
        Mono<String> monoUntilDone() {
            state.begun.countDown();
            return Mono.fromFuture(state.stage, true);
        }

        @WithPermit(name = "exports", onLoss = OnLoss.CONTINUE)
        String goesOn() {
            state.begun.countDown();
            return state.stage.join();
        }

        @WithPermit("exports")
        CompletableFuture<String> future() {
            assertThat(CurrentPermit.get().isValid()).isTrue();
            state.begun.countDown();
            return state.stage;
        }

        @WithPermit("exports")
        Mono<String> mono() {
            return Mono.just("slot " + CurrentPermit.get().slot());
        }

        @WithPermit("exports")
        Flux<Integer> flux() {
            return Flux.range(1, 3);
        }

        @WithPermit("exports")
        Mono<String> endless() {
            return Mono.<String>never().doOnSubscribe(unused -> state.begun.countDown());
        }
    }

    private int free() {
        return context.exports().availablePermits();
    }

    @Test
    void aMethodRunsUnderAPermitThatGoesBack() {
        assertThat(exports.slot()).isBetween(1, 3);
        assertThat(context.exports().statistics().released()).isEqualTo(1);
        assertThat(free()).isEqualTo(3);
    }

    @Test
    void aMethodThatFailsGivesItsPermitBackAndItsExceptionStays() {
        assertThatThrownBy(exports::fail).isInstanceOf(IOException.class).hasMessage("broken");
        assertThat(free()).isEqualTo(3);
    }

    @Test
    void namesComeFromAnnotationsPlaceholdersArgumentsAndBeans() {
        context.client().admin().create("export-acme", 1);
        context.client().admin().create("tenant-acme", 1);

        assertThat(exports.byOwnAnnotation()).isPositive();
        assertThat(exports.byPlaceholder()).isPositive();
        assertThat(exports.byArgument("acme")).isEqualTo("export-acme");
        assertThat(exports.byBean("acme")).isEqualTo("tenant-acme");
    }

    @Test
    void aNameWithoutItsArgumentIsRefused() {
        assertThatThrownBy(() -> exports.byArgument(null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("#{#tenant} in 'export-#{#tenant}'")
                .hasMessageContaining("is null");
        assertThatThrownBy(() -> exports.byArgument(" ")).hasMessageContaining("is blank");
    }

    @Test
    void aSemaphoreThatIsMissingFailsTheCall() {
        assertThatThrownBy(() -> exports.byArgument("nobody")).isInstanceOf(NoSuchSemaphoreException.class);
    }

    @Test
    void aCallMayTakeSeveral() {
        assertThat(exports.several(2)).isEqualTo(2);
        assertThatThrownBy(() -> exports.several(0)).hasMessageContaining("permits = '0'");
        assertThat(free()).isEqualTo(3);
    }

    @Test
    void aFullSemaphoreFailsOrSkips() throws Exception {
        try (PermitGroup all = context.exports().acquire(3)) {
            assertThatThrownBy(exports::impatient).isInstanceOf(SemaphoreTimeoutException.class);
            assertThat(exports.skippedOptional()).isEmpty();
            assertThat(exports.skipped()).isNull();
            assertThat(exports.skippedFuture().get()).isEmpty();
            assertThat(exports.skippedMono().blockOptional()).isEmpty();
            assertThat(all.isValid()).isTrue();
        }
        assertThat(exports.skippedOptional()).contains("ran");
        assertThat(exports.skipped()).isEqualTo("ran");
        assertThat(exports.skippedFuture().get()).contains("ran");
        assertThat(exports.skippedMono().block()).isEqualTo("ran");
    }

    @Test
    void aCallWithinACallForTheSameSemaphoreFailsAtOnce() {
        assertThatThrownBy(() -> exports.nested(exports))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("already");
        assertThat(free()).isEqualTo(3);
    }

    @Test
    void outsideOfACallThereIsNoPermit() {
        assertThatThrownBy(CurrentPermit::get).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> CurrentPermit.require("exports")).hasMessageContaining("'exports'");
    }

    @Test
    void aLossInterruptsTheMethodAndTheCallSaysSo() throws Exception {
        AtomicReference<Throwable> outcome = new AtomicReference<>();
        AtomicReference<Boolean> flag = new AtomicReference<>();
        Thread caller = new Thread(() -> {
            try {
                exports.untilInterrupted();
            } catch (RuntimeException e) {
                outcome.set(e);
            }
            flag.set(Thread.currentThread().isInterrupted());
        });
        caller.start();
        state.begun.await();

        context.client().abort();
        caller.join();

        assertThat(state.seen.get()).isInstanceOf(InterruptedException.class);
        assertThat(outcome.get())
                .isInstanceOf(PermitLostException.class)
                .hasCauseInstanceOf(IllegalStateException.class);
        assertThat(flag.get()).isFalse();
    }

    @Test
    void aMethodThatEndsBeforeTheNewsOfALossFailsToo() throws Exception {
        CompletableFuture<String> outcome = CompletableFuture.supplyAsync(exports::untilDone);
        state.begun.await();

        context.client().abort();
        state.stage.complete("done");

        assertThatThrownBy(outcome::get).hasCauseInstanceOf(PermitLostException.class);
    }

    private void failsAlthoughItEndsBeforeTheNewsOfALoss(CompletableFuture<String> outcome) throws Exception {
        state.begun.await();
        await().until(() -> state.stage.getNumberOfDependents() > 0);

        context.abortInSilence();
        state.stage.complete("done");

        assertThatThrownBy(outcome::get).hasCauseInstanceOf(PermitLostException.class);
    }

    @Test
    void aMonoThatEndsBeforeTheNewsOfALossFailsToo() throws Exception {
        failsAlthoughItEndsBeforeTheNewsOfALoss(
                CompletableFuture.supplyAsync(() -> exports.monoUntilDone().block()));
    }

    @Test
    void aFutureThatEndsBeforeTheNewsOfALossFailsToo() throws Exception {
        failsAlthoughItEndsBeforeTheNewsOfALoss(exports.future());
    }

    @Test
    void aLossLetsTheMethodGoOnIfItSaysSo() throws Exception {
        CompletableFuture<String> outcome = CompletableFuture.supplyAsync(exports::goesOn);
        state.begun.await();

        context.client().abort();
        state.stage.complete("done");

        assertThat(outcome.get()).isEqualTo("done");
    }

    @Test
    void aCallerThatIsInterruptedGetsNoPermit() throws Exception {
        try (PermitGroup all = context.exports().acquire(3)) {
            AtomicReference<Throwable> outcome = new AtomicReference<>();
            AtomicReference<Boolean> flag = new AtomicReference<>();
            Thread caller = new Thread(() -> {
                try {
                    exports.slot();
                } catch (RuntimeException e) {
                    outcome.set(e);
                }
                flag.set(Thread.currentThread().isInterrupted());
            });
            caller.start();
            await().until(() -> context.exports().statistics().waiting() == 1);
            caller.interrupt();
            caller.join();

            assertThat(outcome.get())
                    .isInstanceOf(CancellationException.class)
                    .hasCauseInstanceOf(InterruptedException.class);
            assertThat(flag.get()).isTrue();
            assertThat(all.isValid()).isTrue();
        }
    }

    @Test
    void aFutureHoldsItsPermitUntilItCompletes() throws Exception {
        CompletableFuture<String> outcome = exports.future();
        state.begun.await();
        assertThat(free()).isEqualTo(2);

        state.stage.complete("done");

        assertThat(outcome.get()).isEqualTo("done");
        assertThat(free()).isEqualTo(3);
    }

    @Test
    void aFutureThatIsCancelledKeepsItsPermitUntilTheMethodsStageCompletes() throws Exception {
        CompletableFuture<String> outcome = cancelledAfterTheMethodReturned();

        assertThat(outcome).isCancelled();
        assertThat(state.stage).isNotDone();
        assertThat(free()).isEqualTo(2);
        state.stage.complete("done");
        await().untilAsserted(() -> assertThat(free()).isEqualTo(3));
    }

    @Test
    void aLossCancelsTheStageAlsoAfterItsFutureWasCancelled() throws Exception {
        CompletableFuture<String> outcome = cancelledAfterTheMethodReturned();
        assertThat(state.stage).isNotDone();

        context.client().abort();

        await().until(state.stage::isCancelled);
        assertThat(outcome).isCancelled();
    }

    private CompletableFuture<String> cancelledAfterTheMethodReturned() {
        CompletableFuture<String> outcome = exports.future();
        await().until(() -> state.stage.getNumberOfDependents() > 0);
        outcome.cancel(true);
        return outcome;
    }

    @Test
    void aFutureThatWaitsIsWithdrawnByWhateverCompletesIt() throws Exception {
        try (PermitGroup all = context.exports().acquire(3)) {
            withdrawn(outcome -> outcome.cancel(false));
            withdrawn(outcome -> outcome.complete("of another place"));
            withdrawn(outcome -> outcome.completeExceptionally(new TimeoutException()));
            assertThat(all.isValid()).isTrue();
        }
        assertThat(state.begun.getCount()).isEqualTo(1);
    }

    private void withdrawn(Consumer<CompletableFuture<String>> completed) {
        CompletableFuture<String> outcome = exports.future();
        await().until(() -> context.exports().statistics().waiting() == 1);
        completed.accept(outcome);
        await().until(() -> context.exports().statistics().waiting() == 0);
    }

    @Test
    void aLossFailsTheFutureAndCancelsItsStage() throws Exception {
        CompletableFuture<String> outcome = exports.future();
        state.begun.await();

        context.client().abort();

        assertThatThrownBy(outcome::get).hasCauseInstanceOf(PermitLostException.class);
        await().until(state.stage::isCancelled);
    }

    @Test
    void aLossCancelsTheStageBeforeTheCallerHearsOfIt() throws Exception {
        CountDownLatch stopped = new CountDownLatch(1);
        CompletableFuture<String> outcome = exports.future();
        CompletableFuture<String> cleanedUp = outcome.exceptionally(failure -> {
            awaitUnchecked(stopped);
            return failure.getClass().getSimpleName();
        });
        await().until(() -> state.stage.getNumberOfDependents() > 0);
        CompletableFuture<Void> abort = CompletableFuture.runAsync(context.client()::abort);
        try {
            await().until(state.stage::isCancelled);
        } finally {
            stopped.countDown();
        }
        assertThat(cleanedUp.get()).isEqualTo("PermitLostException");
        abort.get();
    }

    private static void awaitUnchecked(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void eachSubscriptionHoldsAPermitUntilItEnds() {
        Mono<String> mono = exports.mono();
        assertThat(context.exports().statistics().released()).isZero();
        assertThat(mono.block()).startsWith("slot ");
        assertThat(mono.block()).startsWith("slot ");
        assertThat(context.exports().statistics().released()).isEqualTo(2);
        assertThat(exports.flux().collectList().block()).isEqualTo(List.of(1, 2, 3));
        assertThat(free()).isEqualTo(3);
    }

    @Test
    void aLossFailsTheMono() throws InterruptedException {
        CompletableFuture<String> outcome = exports.endless().toFuture();
        state.begun.await();

        context.client().abort();

        assertThatThrownBy(outcome::get).hasCauseInstanceOf(PermitLostException.class);
    }
}
