package io.github.distributedsemaphore.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Proxy;
import java.nio.file.Path;
import org.aopalliance.intercept.MethodInterceptor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Scope;
import org.springframework.context.annotation.ScopedProxyMode;
import org.springframework.core.PriorityOrdered;

/** A bean that a factory makes as a proxy of the JDK, as repositories and mappers are. */
final class FactoryBeanTest {
    @TempDir
    Path folder;

    interface Repository {
        @WithPermit("exports")
        int slot();
    }

    /** As MyBatis does. */
    static class Mapper implements FactoryBean<Repository> {
        @Override
        public Repository getObject() {
            return (Repository) Proxy.newProxyInstance(
                    Repository.class.getClassLoader(),
                    new Class<?>[] {Repository.class},
                    (proxy, method, arguments) ->
                            CurrentPermit.require("exports").slot());
        }

        @Override
        public Class<?> getObjectType() {
            return Repository.class;
        }
    }

    /** As Spring Data does: a proxy of Spring's own, in front of a class that does not have the interface. */
    static class DataRepository extends Mapper {
        @Override
        public Repository getObject() {
            ProxyFactory factory = new ProxyFactory();
            factory.setTarget(new Object());
            factory.addInterface(Repository.class);
            factory.addAdvice(
                    (MethodInterceptor) call -> CurrentPermit.require("exports").slot());
            return (Repository) factory.getProxy(Repository.class.getClassLoader());
        }
    }

    static class NeedsItEarly {
        @Bean
        static EarlyPostProcessor early(Repository bean) {
            return new EarlyPostProcessor();
        }
    }

    static class EarlyPostProcessor implements BeanPostProcessor, PriorityOrdered {
        @Override
        public int getOrder() {
            return 0;
        }
    }

    @Test
    void aProxyOfAFactoryIsGuarded() {
        try (TestContext context = TestContext.of(folder, Mapper.class)) {
            assertThat(context.bean(Repository.class).slot()).isPositive();
        }
    }

    @Test
    void aProxyInFrontOfAnotherClassIsGuarded() {
        try (TestContext context = TestContext.of(folder, DataRepository.class)) {
            assertThat(context.bean(Repository.class).slot()).isPositive();
        }
    }

    @Scope(value = "prototype", proxyMode = ScopedProxyMode.TARGET_CLASS)
    static class Scoped {
        @WithPermit("exports")
        int slot() {
            return CurrentPermit.require("exports").slot();
        }
    }

    @Test
    void whatIsBehindAProxyOfAScopeIsGuarded() {
        try (TestContext context = TestContext.of(folder, Scoped.class)) {
            assertThat(context.bean(Scoped.class).slot()).isPositive();
        }
    }

    @Test
    void aProxyThatIsMadeBeforeOthersCanBeStopsTheStart() {
        assertThatThrownBy(() ->
                        TestContext.of(folder, Mapper.class, NeedsItEarly.class).close())
                .hasMessageContaining("has no proxy");
        assertThatThrownBy(() -> TestContext.of(folder, DataRepository.class, NeedsItEarly.class)
                        .close())
                .hasMessageContaining("has no proxy");
    }
}
