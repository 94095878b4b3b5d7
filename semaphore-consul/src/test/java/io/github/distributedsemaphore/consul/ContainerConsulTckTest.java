package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.AdministrationRules;
import io.github.distributedsemaphore.tck.ContentionRules;
import io.github.distributedsemaphore.tck.HarnessSource;
import io.github.distributedsemaphore.tck.LossRules;
import io.github.distributedsemaphore.tck.ReleaseRules;
import io.github.distributedsemaphore.tck.ResizeRules;
import io.github.distributedsemaphore.tck.SafetyRules;
import io.github.distributedsemaphore.tck.Section;
import io.github.distributedsemaphore.tck.SemaphoreTckHarness;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.ContainerFetchException;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * Sections of the kit that ask much of a server and wait little, on a Consul in a container, which may be newer than the one on
 * the PATH. {@code -Dconsul.address=host:port} runs all tests on any agent.
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
            // After the kit has waited there until what the tests left is gone.
            Runtime.getRuntime().addShutdownHook(new Thread(container::stop));
        } catch (ContainerFetchException e) {
            Assumptions.abort(
                    "the Docker engine cannot get the image, so Consul 1.22 was not tried: " + e.getMessage());
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
}
