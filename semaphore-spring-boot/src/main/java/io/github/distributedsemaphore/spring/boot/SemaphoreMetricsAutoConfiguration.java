package io.github.distributedsemaphore.spring.boot;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.micrometer.SemaphoreMetrics;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** Meters, in applications that have semaphore-micrometer. Spring Boot binds them to its registries once these are set up. */
@AutoConfiguration(after = SemaphoreAutoConfiguration.class)
@ConditionalOnClass(SemaphoreMetrics.class)
@ConditionalOnProperty(name = "distributed-semaphore.metrics.enabled", matchIfMissing = true)
public class SemaphoreMetricsAutoConfiguration {
    /** Creates it. */
    public SemaphoreMetricsAutoConfiguration() {}

    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    @ConditionalOnSingleCandidate(SemaphoreClient.class)
    SemaphoreMetrics semaphoreMetrics(SemaphoreClient client, SemaphoreProperties properties) {
        return SemaphoreMetrics.builder(client)
                .names(properties.semaphores().keySet().toArray(String[]::new))
                .build();
    }
}
