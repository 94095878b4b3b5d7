package io.github.distributedsemaphore.spring.boot;

import io.github.distributedsemaphore.SemaphoreClient;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** The endpoint, in applications that have the actuator. Apart, since its conditions ask for the client of the other one. */
@AutoConfiguration(after = SemaphoreAutoConfiguration.class)
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
public class SemaphoresEndpointAutoConfiguration {
    /** Creates it. */
    public SemaphoresEndpointAutoConfiguration() {}

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnSingleCandidate(SemaphoreClient.class)
    @ConditionalOnAvailableEndpoint
    SemaphoresEndpoint semaphoresEndpoint(SemaphoreClient client, SemaphoreActivity activity) {
        return new SemaphoresEndpoint(client, activity);
    }
}
