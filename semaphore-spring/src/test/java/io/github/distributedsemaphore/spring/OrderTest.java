package io.github.distributedsemaphore.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.PermitGroup;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.aop.Advisor;
import org.springframework.aop.MethodBeforeAdvice;
import org.springframework.aop.interceptor.ExposeInvocationInterceptor;
import org.springframework.aop.support.NameMatchMethodPointcutAdvisor;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Role;
import org.springframework.core.task.SimpleAsyncTaskExecutor;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
import reactor.core.publisher.Mono;

/** Where the permit is taken among the other interceptors of a bean. */
final class OrderTest {
    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement(proxyTargetClass = true)
    @EnableAsync(proxyTargetClass = true)
    static class Beans {
        @Bean
        PlatformTransactionManager transactions() {
            return new Transactions();
        }

        @Bean
        SimpleAsyncTaskExecutor taskExecutor() {
            return new SimpleAsyncTaskExecutor("async-");
        }

        @Bean
        Exports exports() {
            return new Exports();
        }

        /** As Spring puts it in front of the aspects of a bean. */
        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static Advisor exposesItsCall() {
            NameMatchMethodPointcutAdvisor advisor =
                    new NameMatchMethodPointcutAdvisor(ExposeInvocationInterceptor.INSTANCE);
            advisor.addMethodName("advised*");
            return advisor;
        }

        /** Asks for its call, as the advice of an aspect does. */
        @Bean
        @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
        static Advisor asksForItsCall() {
            MethodBeforeAdvice advice = (method, arguments, target) -> assertThat(
                            ExposeInvocationInterceptor.currentInvocation().getMethod())
                    .isEqualTo(method);
            NameMatchMethodPointcutAdvisor advisor = new NameMatchMethodPointcutAdvisor(advice);
            advisor.addMethodName("advised*");
            return advisor;
        }
    }

    /** Writes down what happens, and under which slot. */
    @SuppressWarnings("serial")
    static class Transactions extends AbstractPlatformTransactionManager {
        final List<String> events = new CopyOnWriteArrayList<>();

        @Override
        protected Object doGetTransaction() {
            return this;
        }

        @Override
        protected void doBegin(Object transaction, org.springframework.transaction.TransactionDefinition definition) {
            events.add("begin under " + CurrentPermit.get().isValid());
        }

        @Override
        protected void doCommit(DefaultTransactionStatus status) {
            events.add("commit under " + CurrentPermit.get().isValid());
        }

        @Override
        protected void doRollback(DefaultTransactionStatus status) {
            events.add("rollback under " + CurrentPermit.get().isValid());
        }
    }

    static class Exports {
        @Transactional
        @WithPermit("exports")
        public void inTransaction() {}

        @Async
        @WithPermit("exports")
        public CompletableFuture<String> async() {
            return CompletableFuture.completedFuture(
                    "slot " + CurrentPermit.get().slot() + " on "
                            + Thread.currentThread().getName());
        }

        @Async
        @WithPermit("exports")
        public CompletableFuture<String> asyncFuture(CompletableFuture<String> seen) {
            seen.complete("ran in slot " + CurrentPermit.get().slot());
            return seen;
        }

        @WithPermit("exports")
        public CompletableFuture<Integer> advisedFuture() {
            return CompletableFuture.completedFuture(CurrentPermit.get().slot());
        }

        @WithPermit("exports")
        public Mono<Integer> advisedMono() {
            return Mono.just(CurrentPermit.get().slot());
        }

        @Async
        @WithPermit("exports")
        public void asyncPlain(CompletableFuture<String> seen) {
            seen.complete(Thread.currentThread().getName() + " in slot "
                    + CurrentPermit.get().slot());
        }
    }

    @Test
    void aTransactionBeginsAndCommitsUnderThePermit(@TempDir Path folder) {
        try (TestContext context = TestContext.of(folder, Beans.class)) {
            context.bean(Exports.class).inTransaction();

            assertThat(context.bean(Transactions.class).events)
                    .containsExactly("begin under true", "commit under true");
        }
    }

    @Test
    void anAsynchronousMethodTakesItsPermitOnItsOwnThreadUnlessItReturnsAFuture(@TempDir Path folder)
            throws InterruptedException, ExecutionException {
        try (TestContext context = TestContext.of(folder, Beans.class)) {
            CompletableFuture<String> seen = new CompletableFuture<>();
            context.bean(Exports.class).asyncPlain(seen);
            assertThat(seen.get()).matches("async-\\d+ in slot [123]");
            assertThat(context.bean(Exports.class).async().get()).matches("slot [123] on (?!async-).*");
        }
    }

    /** The caller has a future of Spring's, which does not pass its cancellation on. The documents say so. */
    @Test
    void cancellingTheFutureOfAnAsynchronousMethodReachesNeitherItsWaitNorTheMethod(@TempDir Path folder)
            throws InterruptedException {
        try (TestContext context = TestContext.of(folder, Beans.class)) {
            CompletableFuture<String> seen = new CompletableFuture<>();
            try (PermitGroup all = context.exports().acquire(3)) {
                CompletableFuture<String> result = context.bean(Exports.class).asyncFuture(seen);
                await().until(() -> context.exports().statistics().waiting() == 1);

                assertThat(result.cancel(true)).isTrue();

                assertThat(all.isValid()).isTrue();
                assertThat(seen).isNotDone();
            }
            assertThat(seen)
                    .succeedsWithin(Duration.ofSeconds(10), InstanceOfAssertFactories.STRING)
                    .startsWith("ran in slot");
        }
    }

    @Test
    void theAdviceOfAnAspectFindsItsCallOnTheThreadThatRunsTheMethod(@TempDir Path folder)
            throws InterruptedException, ExecutionException {
        try (TestContext context = TestContext.of(folder, Beans.class)) {
            assertThat(context.bean(Exports.class).advisedFuture().get()).isBetween(1, 3);
            assertThat(context.bean(Exports.class).advisedMono().block()).isBetween(1, 3);
        }
    }
}
