package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.UriHarness;

/**
 * The compatibility kit on a broker, but for the sections that the build leaves to {@link RabbitFaultTest}, which runs side by
 * side: see the module's POM.
 */
class RabbitTckTest extends SemaphoreTck {
    static final String SETTINGS = "?detection=7s";

    @Override
    public SemaphoreTckHarness harness() {
        return onBroker();
    }

    static SemaphoreTckHarness onBroker() {
        return RabbitServer.isOurs()
                ? new RabbitHarness(
                        RabbitServer.uri() + SETTINGS, RabbitServer.node(), () -> new RabbitControl(SETTINGS))
                : new UriHarness(RabbitServer.uri() + SETTINGS);
    }
}
