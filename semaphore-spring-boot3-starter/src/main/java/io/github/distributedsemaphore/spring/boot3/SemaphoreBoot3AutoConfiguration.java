package io.github.distributedsemaphore.spring.boot3;

import io.github.distributedsemaphore.spring.boot.ConditionalOnBackend;
import io.github.distributedsemaphore.spring.boot.SemaphoreAutoConfiguration;
import io.github.distributedsemaphore.spring.boot.SemaphoreConnectionDetails;
import io.github.distributedsemaphore.spring.boot.SemaphoreHealth;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.amqp.RabbitConnectionDetails;
import org.springframework.boot.autoconfigure.amqp.RabbitProperties;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.data.redis.RedisConnectionDetails;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Fallback;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.Environment;

/** Connects what Spring Boot 3.5 knows about servers and health with the client of the application. */
@AutoConfiguration(
        after = SemaphoreAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.autoconfigure.data.redis.RedisAutoConfiguration",
            "org.springframework.boot.autoconfigure.amqp.RabbitAutoConfiguration"
        })
public class SemaphoreBoot3AutoConfiguration {
    /** Creates it. */
    public SemaphoreBoot3AutoConfiguration() {}

    /**
     * Takes the settings of Spring Boot's connection to Redis, not the connection itself: the client's permits live as long as its own.
     * Lazily, for what has no counterpart is refused: that must not end the start of an application whose client uses another server.
     */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(RedisConnectionDetails.class)
    @ConditionalOnBackend("redis")
    static class Redis {
        @Bean
        @Lazy
        @Fallback
        @ConditionalOnBean(RedisConnectionDetails.class)
        SemaphoreConnectionDetails redisSemaphoreConnectionDetails(
                RedisConnectionDetails redis, Environment environment) {
            SslBundle bundle = sslBundle(redis);
            // The details leave out what the scheme of a URL says.
            boolean encrypted = bundle != null
                    || environment.getProperty("spring.data.redis.url", "").startsWith("rediss:");
            return SemaphoreConnectionDetails.of(
                    uri(redis, encrypted ? "rediss" : "redis"), redis.getUsername(), redis.getPassword(), bundle);
        }

        private static String uri(RedisConnectionDetails redis, String scheme) {
            // One server comes last: Spring Boot names localhost as that one where the properties name none.
            RedisConnectionDetails.Sentinel sentinel = redis.getSentinel();
            if (sentinel != null) {
                return scheme + "-sentinel://" + hosts(sentinel.getNodes()) + "/" + sentinel.getDatabase() + "?master="
                        + encoded(sentinel.getMaster()) + setting("sentinelUser", sentinel.getUsername())
                        + setting("sentinelPassword", sentinel.getPassword());
            }
            RedisConnectionDetails.Cluster cluster = redis.getCluster();
            if (cluster != null) {
                return scheme + "-cluster://" + hosts(cluster.getNodes());
            }
            RedisConnectionDetails.Standalone one = redis.getStandalone();
            if (one != null) {
                return scheme + "://" + address(one.getHost(), one.getPort()) + "/" + one.getDatabase();
            }
            throw new IllegalStateException(
                    "Spring Boot's connection to Redis is neither to one server nor to sentinels nor to a"
                            + " cluster: set distributed-semaphore.uri to the server that accepts writes");
        }

        private static String hosts(List<RedisConnectionDetails.Node> nodes) {
            return nodes.stream().map(node -> address(node.host(), node.port())).collect(Collectors.joining(","));
        }

        private static String setting(String name, @Nullable String value) {
            return value == null ? "" : "&" + name + "=" + encoded(value);
        }

        private static @Nullable SslBundle sslBundle(RedisConnectionDetails redis) {
            if (redis.getSentinel() != null) {
                return redis.getSentinel().getSslBundle();
            }
            if (redis.getCluster() != null) {
                return redis.getCluster().getSslBundle();
            }
            return redis.getStandalone() == null ? null : redis.getStandalone().getSslBundle();
        }
    }

    /** As for Redis. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(RabbitConnectionDetails.class)
    @ConditionalOnBackend("amqp")
    static class Rabbit {
        @Bean
        @Lazy
        @Fallback
        @ConditionalOnBean(RabbitConnectionDetails.class)
        SemaphoreConnectionDetails rabbitSemaphoreConnectionDetails(
                RabbitConnectionDetails rabbit, ObjectProvider<RabbitProperties> properties) {
            String hosts = rabbit.getAddresses().stream()
                    .map(node -> address(node.host(), node.port()))
                    .collect(Collectors.joining(","));
            String virtualHost = rabbit.getVirtualHost();
            boolean encrypted = rabbit.getSslBundle() != null
                    || properties.stream().map(RabbitProperties::getSsl).anyMatch(ssl -> isEncrypted(ssl));
            return SemaphoreConnectionDetails.of(
                    (encrypted ? "amqps" : "amqp") + "://" + hosts
                            + (virtualHost == null || virtualHost.equals("/") ? "" : "/" + encoded(virtualHost)),
                    rabbit.getUsername(),
                    rabbit.getPassword(),
                    rabbit.getSslBundle());
        }

        /** For want of a bundle the details leave it out. */
        private static boolean isEncrypted(RabbitProperties.Ssl ssl) {
            if (!ssl.determineEnabled()) {
                return false;
            }
            if (ssl.getKeyStore() != null || ssl.getTrustStore() != null) {
                throw new IllegalStateException("spring.rabbitmq.ssl.key-store and spring.rabbitmq.ssl.trust-store are"
                        + " for Spring Boot's own connection: name them in a bundle below spring.ssl.bundle, and the"
                        + " bundle as spring.rabbitmq.ssl.bundle");
            }
            return true;
        }
    }

    /** Spring Boot gives an IPv6 address with or without its brackets, as the properties have it; a URI needs them. */
    private static String address(String host, int port) {
        return (host.contains(":") && !host.startsWith("[") ? "[" + host + "]" : host) + ":" + port;
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** The health indicator, in applications that have the actuator. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(ConditionalOnEnabledHealthIndicator.class)
    @ConditionalOnEnabledHealthIndicator("distributed-semaphore")
    static class HealthConfiguration {
        @Bean
        @ConditionalOnMissingBean(name = "distributedSemaphoreHealthIndicator")
        @ConditionalOnBean(SemaphoreHealth.class)
        HealthIndicator distributedSemaphoreHealthIndicator(SemaphoreHealth semaphore) {
            return new AbstractHealthIndicator("The backend of the distributed semaphores is not well") {
                @Override
                protected void doHealthCheck(Health.Builder builder) throws InterruptedException {
                    try {
                        builder.up().withDetails(semaphore.check());
                    } catch (InterruptedException e) {
                        // Spring Boot makes an answer of the exception, and the interrupt would be lost.
                        Thread.currentThread().interrupt();
                        throw e;
                    }
                }
            };
        }
    }
}
