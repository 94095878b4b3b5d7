package io.github.distributedsemaphore.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.PermitLostException;
import io.github.distributedsemaphore.SemaphoreClient;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import reactor.core.publisher.Mono;

/** Methods that return a future or a {@code Mono}, until they return it. */
final class LaterTest {
    private static final Duration LONG = Duration.ofSeconds(10);

    @TempDir
    Path folder;

    /** Apart from the bean, since the fields of its proxy are empty. */
    static class State {
        final CountDownLatch begun = new CountDownLatch(1);
        final CompletableFuture<String> stage = new CompletableFuture<>();
        final AtomicReference<InterruptedException> seen = new AtomicReference<>();

        void untilInterrupted() {
            begun.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                seen.set(e);
            }
        }
    }

    static class Exports {
        private final State state;

        Exports(State state) {
            this.state = state;
        }

        @WithPermit("exports")
        CompletableFuture<String> failingFuture() {
            state.untilInterrupted();
            throw new IllegalStateException("stopped", state.seen.get());
        }

        @WithPermit("exports")
        CompletableFuture<String> stubbornFuture() {
            state.untilInterrupted();
            return state.stage;
        }

        @WithPermit("exports")
        Mono<String> failingMono() {
            state.untilInterrupted();
            throw new IllegalStateException("stopped", state.seen.get());
        }

        @WithPermit("exports")
        CompletableFuture<Thread> future() {
            return CompletableFuture.completedFuture(Thread.currentThread());
        }

        @WithPermit("exports")
        Mono<Thread> mono() {
            return Mono.just(Thread.currentThread());
        }

        @WithPermit("exports")
        CompletableFuture<Seen> loaderOfFuture() {
            return CompletableFuture.completedFuture(Seen.here());
        }

        @WithPermit("exports")
        Mono<Seen> loaderOfMono() {
            return Mono.just(Seen.here());
        }
    }

    record Seen(Thread thread, ClassLoader loader) {
        static Seen here() {
            return new Seen(Thread.currentThread(), Thread.currentThread().getContextClassLoader());
        }
    }

    /** Gives the application a class loader of its own once its beans are there. */
    record Application(ConfigurableListableBeanFactory beans, ClassLoader loader) {
        @Autowired
        Application(ConfigurableListableBeanFactory beans) {
            this(beans, new ClassLoader(LaterTest.class.getClassLoader()) {});
        }
    }

    /** A client whose permits are there before its caller looks. */
    static class AtOnce implements BeanPostProcessor {
        @Override
        public Object postProcessAfterInitialization(Object bean, String name) {
            return bean instanceof SemaphoreClient client ? atOnce(SemaphoreClient.class, client) : bean;
        }

        private static <T> T atOnce(Class<T> type, T target) {
            return type.cast(Proxy.newProxyInstance(
                    type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                        Object result = method.invoke(target, arguments);
                        if (result instanceof CompletableFuture<?> acquiring) {
                            acquiring.join();
                        }
                        return result instanceof DistributedSemaphore semaphore
                                ? atOnce(DistributedSemaphore.class, semaphore)
                                : result;
                    }));
        }
    }

    @Test
    void aMethodThatReturnsAFutureIsNotCalledOnItsCallersThread() throws InterruptedException, ExecutionException {
        try (TestContext context = TestContext.of(folder, Exports.class, State.class, AtOnce.class)) {
            assertThat(context.bean(Exports.class).future().get()).isNotSameAs(Thread.currentThread());
            assertThat(context.exports().availablePermits()).isEqualTo(3);
        }
    }

    @Test
    void aMethodThatReturnsAMonoIsNotCalledOnItsSubscribersThread() {
        try (TestContext context = TestContext.of(folder, Exports.class, State.class, AtOnce.class)) {
            assertThat(context.bean(Exports.class).mono().block()).isNotSameAs(Thread.currentThread());
            assertThat(context.exports().availablePermits()).isEqualTo(3);
        }
    }

    /** The threads of the client have that of the library. */
    @Test
    void aMethodHasTheClassLoaderOfItsApplication() throws InterruptedException, ExecutionException {
        try (TestContext context = TestContext.of(folder, Exports.class, State.class, Application.class)) {
            Application application = context.bean(Application.class);
            application.beans().setBeanClassLoader(application.loader());
            Exports exports = context.bean(Exports.class);
            for (Seen seen : List.of(
                    exports.loaderOfFuture().get(), exports.loaderOfMono().block())) {
                assertThat(seen.loader()).isSameAs(application.loader());
                await().until(() -> seen.thread().getContextClassLoader() != application.loader());
            }
        }
    }

    @Test
    void aLossInterruptsAMethodThatHasNotReturnedItsFutureYet() throws InterruptedException {
        try (TestContext context = TestContext.of(folder, Exports.class, State.class)) {
            CompletableFuture<String> outcome = context.bean(Exports.class).failingFuture();
            assertLost(context, outcome);
            assertThat(outcome)
                    .failsWithin(LONG)
                    .withThrowableThat()
                    .havingCause()
                    .withCauseInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void aFutureThatAMethodReturnsInSpiteOfALossIsCancelled() throws InterruptedException {
        try (TestContext context = TestContext.of(folder, Exports.class, State.class)) {
            assertLost(context, context.bean(Exports.class).stubbornFuture());
            await().until(context.bean(State.class).stage::isCancelled);
        }
    }

    @Test
    void aLossInterruptsAMethodThatHasNotReturnedItsMonoYet() throws InterruptedException {
        try (TestContext context = TestContext.of(folder, Exports.class, State.class)) {
            assertLost(context, context.bean(Exports.class).failingMono().toFuture());
        }
    }

    private static void assertLost(TestContext context, CompletableFuture<String> outcome) throws InterruptedException {
        State state = context.bean(State.class);
        state.begun.await();
        context.client().abort();
        assertThat(outcome).failsWithin(LONG).withThrowableThat().withCauseInstanceOf(PermitLostException.class);
        assertThat(state.seen.get()).isInstanceOf(InterruptedException.class);
    }
}
