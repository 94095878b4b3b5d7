package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.tck.AdministrationRules;
import io.github.distributedsemaphore.tck.CrashRules;
import io.github.distributedsemaphore.tck.FencingRules;
import io.github.distributedsemaphore.tck.HarnessSource;
import io.github.distributedsemaphore.tck.LossRules;
import io.github.distributedsemaphore.tck.ReleaseRules;
import io.github.distributedsemaphore.tck.ResizeRules;
import io.github.distributedsemaphore.tck.SafetyRules;
import io.github.distributedsemaphore.tck.Section;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.ContainerFetchException;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.utility.DockerImageName;

/**
 * The sections of the kit that ask the most of a server, on Redis 8 in a container. {@code -Dsemaphore.redis.uri} runs all
 * tests on any server.
 */
@Section
class ContainerRedisTckTest implements HarnessSource {
    private static final int PORT = 6379;

    private static GenericContainer<?> container;

    @BeforeAll
    static void start() {
        try {
            Assumptions.assumeTrue(
                    DockerClientFactory.instance().isDockerAvailable(),
                    "no Docker engine answers, so Redis 8 was not tried");
            container = new GenericContainer<>(DockerImageName.parse("redis:8")).withExposedPorts(PORT);
            container.start();
        } catch (ContainerFetchException e) {
            Assumptions.abort("the Docker engine cannot get the images, so Redis 8 was not tried: " + e.getMessage());
        }
    }

    @AfterAll
    static void stop() {
        if (container != null) {
            container.stop();
        }
    }

    @Override
    public SemaphoreTckHarness harness() {
        String address = "redis://" + container.getHost() + ":" + container.getMappedPort(PORT);
        return new RedisTckTest.Harness(address, "tck-" + UUID.randomUUID());
    }

    @Nested
    class Safety extends SafetyRules {}

    @Nested
    class Release extends ReleaseRules {}

    @Nested
    class Loss extends LossRules {}

    @Nested
    class Fencing extends FencingRules {}

    @Nested
    class Administration extends AdministrationRules {}

    @Nested
    class Resize extends ResizeRules {}

    @Nested
    class Crash extends CrashRules {}
}
