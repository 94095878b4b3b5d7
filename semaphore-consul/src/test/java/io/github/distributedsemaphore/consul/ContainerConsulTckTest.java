package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.AdministrationRules;
import io.github.distributedsemaphore.tck.ContentionRules;
import io.github.distributedsemaphore.tck.CrashRules;
import io.github.distributedsemaphore.tck.HarnessSource;
import io.github.distributedsemaphore.tck.LossRules;
import io.github.distributedsemaphore.tck.ReleaseRules;
import io.github.distributedsemaphore.tck.ResizeRules;
import io.github.distributedsemaphore.tck.SafetyRules;
import io.github.distributedsemaphore.tck.Section;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.ContainerFetchException;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * The sections of the kit that ask the most of a server, on a Consul in a container: a newer one than that on the PATH may be.
 * {@code -Dconsul.address=host:port} runs all tests on any agent.
 */
@Section
class ContainerConsulTckTest implements HarnessSource {
    private static final int PORT = 8500;

    private static GenericContainer<?> container;

    @BeforeAll
    static void start() {
        try {
            Assumptions.assumeTrue(
                    DockerClientFactory.instance().isDockerAvailable(),
                    "no Docker engine answers, so Consul 1.22 was not tried");
            container = new GenericContainer<>(DockerImageName.parse("hashicorp/consul:1.22"))
                    .withExposedPorts(PORT)
                    .waitingFor(Wait.forHttp("/v1/status/leader")
                            .forPort(PORT)
                            .forResponsePredicate(leader -> leader.contains(":")));
            container.start();
        } catch (ContainerFetchException e) {
            Assumptions.abort(
                    "the Docker engine cannot get the image, so Consul 1.22 was not tried: " + e.getMessage());
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
        return new ConsulHarness(new ConsulServer(container.getHost() + ":" + container.getMappedPort(PORT), ""));
    }

    @Nested
    class Safety extends SafetyRules {}

    @Nested
    class Contention extends ContentionRules {}

    @Nested
    class Release extends ReleaseRules {}

    @Nested
    class Loss extends LossRules {}

    @Nested
    class Administration extends AdministrationRules {}

    @Nested
    class Resize extends ResizeRules {}

    @Nested
    class Crash extends CrashRules {}
}
