package io.github.distributedsemaphore.spring;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.aop.Advisor;
import org.springframework.aop.SpringProxy;
import org.springframework.aop.config.AopConfigUtils;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.framework.AopInfrastructureBean;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.DefaultPointcutAdvisor;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.ImportBeanDefinitionRegistrar;
import org.springframework.context.annotation.Role;
import org.springframework.core.Ordered;
import org.springframework.core.type.AnnotationMetadata;

/**
 * Turns {@link WithPermit} on. The starters for Spring Boot import it; without them an application does, beside a bean of type {@link
 * io.github.distributedsemaphore.SemaphoreClient}.
 *
 * <pre>{@code
 * @Configuration
 * @Import(WithPermitConfiguration.class)
 * class AppConfiguration {
 *     @Bean
 *     SemaphoreClient semaphores() {
 *         return SemaphoreClient.connect("redis://cache");
 *     }
 * }
 * }</pre>
 *
 * <p>Needs spring-context and spring-aop, and no AspectJ.
 */
@Configuration(proxyBeanMethods = false)
@Import(WithPermitConfiguration.ProxyCreator.class)
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public class WithPermitConfiguration {
    /** Creates it. */
    public WithPermitConfiguration() {}

    /**
     * What applies to all methods, as a bean of the application.
     *
     * @param maxWait the longest wait of a method that does not state one
     * @param order the place among the interceptors of a bean: a lower one is further outside
     */
    public record Settings(Duration maxWait, int order) {
        /** 30 seconds, and outside of {@code @Transactional} and {@code @Cacheable}, which have the lowest precedence. */
        public static final Settings DEFAULT = new Settings(Duration.ofSeconds(30), Ordered.LOWEST_PRECEDENCE - 100);

        /**
         * Checks them.
         *
         * @param maxWait see the record
         * @param order see the record
         * @throws IllegalArgumentException if the wait is negative
         */
        public Settings {
            if (maxWait.isNegative()) {
                throw new IllegalArgumentException(
                        "The longest wait of @WithPermit methods is " + maxWait + ", it must not be negative");
            }
        }
    }

    /**
     * The interceptor. It asks for the client at the first call only, so that it does not make beans before their time.
     *
     * @param beanFactory where the methods' clients come from
     * @param settings what applies to all methods, if the application says so
     * @return the advisor
     */
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static Advisor withPermitAdvisor(ConfigurableListableBeanFactory beanFactory, ObjectProvider<Settings> settings) {
        Settings chosen = settings.getIfAvailable(() -> Settings.DEFAULT);
        PermitMethods methods = new PermitMethods(beanFactory, chosen.maxWait());
        DefaultPointcutAdvisor advisor = new DefaultPointcutAdvisor(methods, new WithPermitInterceptor(methods));
        advisor.setOrder(chosen.order());
        return advisor;
    }

    /**
     * Stops the start if a bean has the annotation and no interceptor.
     *
     * @param beanFactory the beans
     * @param advisor the interceptor
     * @return the check
     */
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static SmartInitializingSingleton withPermitCheck(
            ConfigurableListableBeanFactory beanFactory, @Qualifier("withPermitAdvisor") Advisor advisor) {
        return new Check(beanFactory, (DefaultPointcutAdvisor) advisor);
    }

    /** Has Spring make proxies at all, as its own {@code @Enable} annotations do. */
    static final class ProxyCreator implements ImportBeanDefinitionRegistrar {
        @Override
        public void registerBeanDefinitions(AnnotationMetadata importing, BeanDefinitionRegistry registry) {
            AopConfigUtils.registerAutoProxyCreatorIfNecessary(registry);
        }
    }

    /** Looks at the singletons once all of them are there. */
    private record Check(ConfigurableListableBeanFactory beanFactory, DefaultPointcutAdvisor advisor)
            implements SmartInitializingSingleton {
        private static final Logger LOG = LoggerFactory.getLogger(WithPermit.class);

        /** There if a test replaces beans by Spring's annotations. It does not say which. */
        private static final String OVERRIDES =
                "org.springframework.test.context.bean.override.internalBeanOverridePostProcessor";

        /** The mocks of Spring Boot 3.5, which are iterable. */
        private static final String MOCKS = "org.springframework.boot.test.mock.mockito.MockitoBeans";

        @Override
        public void afterSingletonsInstantiated() {
            for (String name : beanFactory.getSingletonNames()) {
                Object bean = beanFactory.getSingleton(name);
                if (bean instanceof FactoryBean<?> factory) {
                    checkProduct(name, factory);
                }
                if (bean != null) {
                    check(name, bean);
                }
            }
        }

        /** By its type first, so that a factory is not made to work for nothing. */
        private void checkProduct(String name, FactoryBean<?> factory) {
            Class<?> type = factory.getObjectType();
            if (type != null && factory.isSingleton() && !methodsOf(type).isEmpty()) {
                check(name, beanFactory.getBean(name));
            }
        }

        private Set<Method> methodsOf(Class<?> type) {
            return ((PermitMethods) advisor.getPointcut()).of(type).keySet();
        }

        private void check(String name, Object bean) {
            if (bean instanceof AopInfrastructureBean) {
                return;
            }
            Class<?> target = AopProxyUtils.ultimateTargetClass(bean);
            // The last target of a repository does not have the interface.
            Class<?> type = methodsOf(target).isEmpty() ? bean.getClass() : target;
            Set<Method> methods = methodsOf(type);
            if (methods.isEmpty()) {
                return;
            }
            if (bean instanceof SpringProxy ? !isGuarded(bean) : isMadeHere(name, bean)) {
                throw new IllegalStateException("@WithPermit has no effect on bean '" + name
                        + "' of " + bean.getClass()
                        + ", which has no proxy: a BeanPostProcessor or BeanFactoryPostProcessor"
                        + " needs it, so that it is made before proxies can be. Inject it there by ObjectProvider");
            }
            if (bean instanceof Advised proxy && AopUtils.isJdkDynamicProxy(bean)) {
                methods.forEach(method -> requireInInterface(name, method, type, proxy));
            }
        }

        /** Another proxy may be around the one with the interceptor. One that is opaque does not say what it has, and passes. */
        private boolean isGuarded(@Nullable Object bean) {
            return bean instanceof Advised proxy
                    ? Arrays.asList(proxy.getAdvisors()).contains(advisor)
                            || isGuarded(AopProxyUtils.getSingletonTarget(proxy))
                    : bean instanceof SpringProxy;
        }

        /** Not so for a mock: a test registers it as an object, and Spring makes no proxies for objects. */
        private boolean isMadeHere(String name, Object bean) {
            if (!beanFactory.containsBeanDefinition(name) || isMock(bean)) {
                return false;
            }
            boolean mayBeReplaced = beanFactory.containsSingleton(OVERRIDES);
            if (mayBeReplaced) {
                LOG.info(
                        "@WithPermit has no effect on bean '{}' of {}, which has no proxy: the test may have replaced it",
                        name,
                        bean.getClass());
            }
            return !mayBeReplaced;
        }

        private boolean isMock(Object bean) {
            if (beanFactory.getSingleton(MOCKS) instanceof Iterable<?> mocks) {
                for (Object mock : mocks) {
                    if (mock == bean) {
                        return true;
                    }
                }
            }
            return false;
        }

        private static void requireInInterface(String name, Method method, Class<?> type, Advised proxy) {
            if (!PermitMethods.isInInterface(method, type, proxy.getProxiedInterfaces())) {
                throw new IllegalStateException(
                        "@WithPermit has no effect on " + method.toGenericString() + ": bean '"
                                + name
                                + "' has a proxy of the JDK, which has the methods of its interfaces only. Add the method to an"
                                + " interface, or set proxyTargetClass = true (Spring Boot: spring.aop.proxy-target-class=true)");
            }
        }
    }
}
