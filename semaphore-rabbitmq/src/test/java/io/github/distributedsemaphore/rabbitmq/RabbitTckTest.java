package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.UriHarness;

/** The compatibility kit on brokers, one for each JVM. */
class RabbitTckTest extends SemaphoreTck {
    static final String SETTINGS = "?detection=7s";

    @Override
    public SemaphoreTckHarness harness() {
        return RabbitServer.isOurs()
                ? new RabbitHarness(
                        RabbitServer.uri() + SETTINGS, RabbitServer.node(), () -> new RabbitControl(SETTINGS))
                : new UriHarness(RabbitServer.uri() + SETTINGS);
    }

    /** Most of the time is waiting for heartbeats. */
    @Override
    public int jvms() {
        return 3;
    }
}
