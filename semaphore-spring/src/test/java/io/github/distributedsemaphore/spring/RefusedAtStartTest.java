package io.github.distributedsemaphore.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.spring.WithPermit.IfFull;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.core.PriorityOrdered;

final class RefusedAtStartTest {
    @TempDir
    Path folder;

    static class OnPrivate {
        @SuppressWarnings("UnusedMethod") // found by its annotation
        @WithPermit("exports")
        private void run() {}
    }

    static class OnStatic {
        @WithPermit("exports")
        static void run() {}
    }

    static class OnFinal {
        @WithPermit("exports")
        final void run() {}
    }

    static final class InFinalClass {
        @WithPermit("exports")
        void run() {}
    }

    record InRecord() {
        @WithPermit("exports")
        void run() {}
    }

    interface Port {
        void other();
    }

    static class BesideItsInterface implements Port {
        @Override
        public void other() {}

        @WithPermit("exports")
        public void run() {}
    }

    static class SkipsPrimitive {
        @WithPermit(name = "exports", ifFull = IfFull.SKIP)
        int run() {
            return 1;
        }
    }

    static class ReturnsFuture {
        @WithPermit("exports")
        Future<String> run() {
            return null;
        }
    }

    static class ReturnsForeignPublisher {
        @WithPermit("exports")
        Flow.Publisher<String> run() {
            return null;
        }
    }

    static class NoName {
        @WithPermit
        void run() {}
    }

    static class NoSuchPlaceholder {
        @WithPermit("${no.such.property}")
        void run() {}
    }

    static class BrokenExpression {
        @WithPermit("a-#{#}")
        void run() {}
    }

    static class BadWait {
        @WithPermit(name = "exports", maxWait = "soon")
        void run() {}
    }

    static class WaitWithoutUnit {
        @WithPermit(name = "exports", maxWait = "10")
        void run() {}
    }

    static class NegativeWait {
        @WithPermit(name = "exports", maxWait = "-1s")
        void run() {}
    }

    static class NoPermits {
        @WithPermit(name = "exports", permits = "0")
        void run() {}
    }

    static class MadeTooEarly {
        @WithPermit("exports")
        void run() {}
    }

    static class NeedsItEarly {
        @Bean
        static EarlyPostProcessor early(MadeTooEarly bean) {
            return new EarlyPostProcessor();
        }
    }

    static class EarlyPostProcessor implements BeanPostProcessor, PriorityOrdered {
        @Override
        public int getOrder() {
            return 0;
        }
    }

    /** As Spring Boot 3.5 does for its {@code @MockBean}. */
    static class Mocks implements BeanFactoryPostProcessor {
        @Override
        public void postProcessBeanFactory(ConfigurableListableBeanFactory beans) {
            MadeTooEarly mock = new MadeTooEarly();
            beans.registerSingleton(beans.getBeanNamesForType(MadeTooEarly.class, true, false)[0], mock);
            beans.registerSingleton("org.springframework.boot.test.mock.mockito.MockitoBeans", List.of(mock));
        }
    }

    static Stream<Arguments> mistakes() {
        return Stream.of(
                Arguments.of(OnPrivate.class, "it is private"),
                Arguments.of(OnStatic.class, "it is static"),
                Arguments.of(OnFinal.class, "it is final"),
                Arguments.of(InFinalClass.class, "in the final class"),
                Arguments.of(InRecord.class, "in the final record"),
                Arguments.of(BesideItsInterface.class, "proxy of the JDK"),
                Arguments.of(OverloadOfItsInterface.class, "proxy of the JDK"),
                Arguments.of(SkipsPrimitive.class, "int cannot be"),
                Arguments.of(ReturnsFuture.class, "returns a java.util.concurrent.Future"),
                Arguments.of(ReturnsForeignPublisher.class, "returns a java.util.concurrent.Flow$Publisher"),
                Arguments.of(NoName.class, "has no name"),
                Arguments.of(NoSuchPlaceholder.class, "no.such.property"),
                Arguments.of(BrokenExpression.class, ""),
                Arguments.of(BadWait.class, "maxWait = 'soon'"),
                Arguments.of(WaitWithoutUnit.class, "maxWait = '10', which has no unit"),
                Arguments.of(NegativeWait.class, "must not be negative"),
                Arguments.of(NoPermits.class, "permits = '0'"));
    }

    @ParameterizedTest
    @MethodSource("mistakes")
    void aMistakeStopsTheStartAndIsNamed(Class<?> bean, String problem) {
        assertThatThrownBy(() -> TestContext.of(folder, bean).close()).hasStackTraceContaining(problem);
    }

    @Test
    void aBeanThatIsMadeBeforeProxiesAreStopsTheStart() {
        assertThatThrownBy(() -> TestContext.of(folder, MadeTooEarly.class, NeedsItEarly.class)
                        .close())
                .hasMessageContaining("MadeTooEarly")
                .hasMessageContaining("has no proxy");
    }

    /** A proxy of somebody else around that of a bean, as a BeanPostProcessor makes it that does not share Spring's. */
    static class ProxyAround implements BeanPostProcessor {
        @Override
        public Object postProcessAfterInitialization(Object bean, String name) {
            if (!(bean instanceof Guarded)) {
                return bean;
            }
            ProxyFactory factory = new ProxyFactory(bean);
            factory.setProxyTargetClass(true);
            factory.addAdvice((MethodInterceptor) MethodInvocation::proceed);
            return factory.getProxy();
        }
    }

    static class Guarded {
        @WithPermit("exports")
        int slot() {
            return CurrentPermit.get().slot();
        }
    }

    @Test
    void aGuardedBeanMayHaveAnotherProxyAroundIt() {
        try (TestContext context = TestContext.of(folder, Guarded.class, ProxyAround.class)) {
            assertThat(context.bean(Guarded.class).slot()).isPositive();
        }
    }

    interface Handler<T> {
        int handle(T message);
    }

    /** The interface has the method with an Object: what the class has of it beside its own is a bridge. */
    static final class TextHandler implements Handler<String> {
        @Override
        @WithPermit("exports")
        public int handle(String message) {
            return CurrentPermit.get().slot();
        }
    }

    static class TextSlots {
        @WithPermit("exports")
        public int handle(String message) {
            return CurrentPermit.get().slot();
        }
    }

    /** Implements the interface with what it inherits. */
    static class InheritingHandler extends TextSlots implements Handler<String> {}

    @ParameterizedTest
    @ValueSource(classes = {TextHandler.class, InheritingHandler.class})
    void aMethodOfAGenericInterfaceIsGuarded(Class<?> bean) {
        try (TestContext context = TestContext.of(folder, bean)) {
            @SuppressWarnings("unchecked") // both handle texts
            Handler<String> handler = context.bean(Handler.class);
            assertThat(handler.handle("text")).isPositive();
            assertThat(context.exports().statistics().released()).isEqualTo(1);
        }
    }

    static class OverloadOfItsInterface implements Handler<String> {
        @Override
        public int handle(String message) {
            return 0;
        }

        @WithPermit("exports")
        public int handle(Integer message) {
            return 1;
        }
    }

    @Test
    void aMockInThePlaceOfABeanNeedsNoProxy() {
        try (TestContext context = TestContext.of(folder, MadeTooEarly.class, Mocks.class)) {
            assertThat(context.bean(MadeTooEarly.class)).hasSameClassAs(new MadeTooEarly());
        }
    }
}
