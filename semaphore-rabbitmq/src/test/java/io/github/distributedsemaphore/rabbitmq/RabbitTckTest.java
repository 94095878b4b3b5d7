package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.UriHarness;

/** The compatibility kit on a broker. */
class RabbitTckTest extends SemaphoreTck {
    static final String SETTINGS = "?detection=7s&timeout=4s";

    @Override
    public SemaphoreTckHarness harness() {
        return RabbitServer.isOurs()
                ? new RabbitHarness(
                        RabbitServer.uri() + SETTINGS, RabbitServer.node(), () -> new RabbitControl(SETTINGS))
                : new UriHarness(RabbitServer.uri() + SETTINGS);
    }
}
