package io.github.distributedsemaphore.spring.boot;

import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClientBuilder;
import io.github.distributedsemaphore.spring.WithPermitConfiguration;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;

/**
 * Makes the client of an application from its properties or from Spring Boot's connection details, the semaphores that it configures, and
 * what surrounds them. A {@link SemaphoreClient} that the application defines takes the place of its own.
 */
@AutoConfiguration
@EnableConfigurationProperties(SemaphoreProperties.class)
@Import(WithPermitConfiguration.class)
public class SemaphoreAutoConfiguration {
    private static final Logger LOG = LoggerFactory.getLogger(SemaphoreAutoConfiguration.class);
    private static final int LONGEST_LABEL = 200;

    private volatile @Nullable SemaphoreClient made;

    /** Creates it. */
    public SemaphoreAutoConfiguration() {}

    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    SemaphoreClient semaphoreClient(
            SemaphoreProperties properties, ObjectProvider<SemaphoreConnectionDetails> found, Environment environment) {
        SemaphoreConnectionDetails details = properties.uri() == null
                ? unique(found)
                : SemaphoreConnectionDetails.of(properties.uri(), null, null, null);
        SemaphoreClientBuilder builder = builder(details);
        String label = properties.label() == null
                ? environment.getProperty("spring.application.name", "")
                : properties.label();
        // As a setting: a path or a password may have that text too.
        boolean hasLabel = details.uri().matches("[^?]*\\?(.*&)?label=.*");
        if (!label.isBlank() && !hasLabel && !properties.settings().containsKey("label")) {
            builder.label(label.substring(0, Math.min(label.length(), LONGEST_LABEL)));
        }
        if (properties.detection() != null) {
            builder.detection(properties.detection());
        }
        properties.settings().forEach(builder::set);
        SemaphoreClient client = builder.connect();
        try {
            // Before another bean has the client, since that one may take a permit when it is made.
            createAll(client, properties);
        } catch (RuntimeException | Error e) {
            client.close();
            throw e;
        }
        made = client;
        return client;
    }

    private static SemaphoreConnectionDetails unique(ObjectProvider<SemaphoreConnectionDetails> found) {
        SemaphoreConnectionDetails details = found.getIfUnique();
        if (details == null) {
            throw new NoBackendException(found.stream()
                    .map(one -> NoBackendException.shown(one.uri()))
                    .toList());
        }
        return details;
    }

    private static SemaphoreClientBuilder builder(SemaphoreConnectionDetails details) {
        SemaphoreClientBuilder builder = SemaphoreClient.builder(details.uri());
        if (details.username() != null || details.password() != null) {
            builder.credentials(orEmpty(details.username()), orEmpty(details.password()));
        }
        SslBundle bundle = details.sslBundle();
        if (bundle != null) {
            builder.trustManagers(bundle.getManagers().getTrustManagerFactory());
            if (bundle.getStores().getKeyStore() != null) {
                builder.keyManagers(bundle.getManagers().getKeyManagerFactory());
            }
        }
        return builder;
    }

    private static String orEmpty(@Nullable String text) {
        return text == null ? "" : text;
    }

    /** Static and without parameters, as Spring asks of what it makes before other beans. */
    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static SemaphoreActivity semaphoreActivity() {
        return new SemaphoreActivity();
    }

    /** For a client that the application defines or that comes from a parent context. */
    @Bean
    SmartInitializingSingleton configuredSemaphores(
            ObjectProvider<SemaphoreClient> client, SemaphoreActivity activity, SemaphoreProperties properties) {
        properties.semaphores().keySet().forEach(activity::configured);
        return () -> {
            if (!properties.semaphores().isEmpty() && client.getObject() != made) {
                createAll(client.getObject(), properties);
            }
        };
    }

    private static void createAll(SemaphoreClient client, SemaphoreProperties properties) {
        properties.semaphores().forEach((name, wanted) -> create(client, name, wanted));
    }

    private static void create(SemaphoreClient client, String name, SemaphoreProperties.Semaphore wanted) {
        SemaphoreAdmin admin = client.admin();
        switch (wanted.onConflict()) {
            case RESIZE -> admin.ensure(name, wanted.limit());
            case FAIL -> admin.create(name, wanted.limit());
            case KEEP -> {
                try {
                    admin.create(name, wanted.limit());
                } catch (LimitConflictException e) {
                    LOG.info("Semaphore '{}' keeps its limit: {}", name, e.getMessage());
                }
            }
        }
    }

    @Bean
    SemaphoreLifecycle semaphoreStopsAcquiring(ConfigurableListableBeanFactory beans) {
        return new SemaphoreLifecycle(
                SemaphoreLifecycle.STOP_ACQUIRING, () -> own(beans).forEach(SemaphoreClient::stopAcquiring));
    }

    /**
     * The clients of a context that are there, also those that are no candidates for injection. A client of a parent context serves that one,
     * and other children of it, after this context has closed.
     */
    private static List<SemaphoreClient> own(ConfigurableListableBeanFactory beans) {
        return Arrays.stream(beans.getBeanNamesForType(SemaphoreClient.class, false, false))
                .filter(beans::containsSingleton)
                .map(name -> beans.getBean(name, SemaphoreClient.class))
                .toList();
    }

    @Bean
    SemaphoreLifecycle semaphoreCloses(
            ConfigurableListableBeanFactory beans, SemaphoreActivity activity, SemaphoreProperties properties) {
        // A client that was registered as an object, or in a parent of this context, has not passed a post-processor.
        own(beans).forEach(client -> activity.follow(client, true));
        for (BeanFactory parent = beans.getParentBeanFactory();
                parent instanceof ConfigurableListableBeanFactory inherited;
                parent = inherited.getParentBeanFactory()) {
            own(inherited).forEach(client -> activity.follow(client, false));
        }
        return new SemaphoreLifecycle(SemaphoreLifecycle.CLOSE, () -> {
            List<SemaphoreClient> own = own(beans);
            // What is held by a parent's client alone does not concern this shutdown.
            if (!own.isEmpty()
                    && !activity.awaitNothingHeld(properties.shutdown().awaitHolders())) {
                LOG.warn("The shutdown gives back {} permits that are still held", activity.held());
            }
            own.forEach(SemaphoreClient::close);
        });
    }

    @Bean
    @ConditionalOnSingleCandidate(SemaphoreClient.class)
    SemaphoreHealth semaphoreHealth(
            SemaphoreClient client, SemaphoreActivity activity, SemaphoreProperties properties) {
        return new SemaphoreHealth(client, activity, properties.health().timeout());
    }

    /** Static, and bound without the bean of all properties: the interceptor needs it before the beans are made. */
    @Bean
    @ConditionalOnMissingBean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static WithPermitConfiguration.Settings withPermitSettings(Environment environment) {
        SemaphoreProperties.Methods methods = Binder.get(environment)
                .bindOrCreate("distributed-semaphore.methods", SemaphoreProperties.Methods.class);
        return new WithPermitConfiguration.Settings(methods.maxWait(), methods.order());
    }
}
