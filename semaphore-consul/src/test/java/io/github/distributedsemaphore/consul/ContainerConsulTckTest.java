package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import java.util.Optional;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.ContainerFetchException;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * The kit on a Consul in a container, which may be newer than the one on the PATH, but for what stops servers. {@code
 * -Dconsul.address=host:port} runs all tests on any agent.
 */
class ContainerConsulTckTest extends SemaphoreTck {
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
        return new ConsulHarness(new ConsulServer(container.getHost() + ":" + container.getMappedPort(PORT), "")) {
            @Override
            public Optional<ServerControl> startServer() {
                return Optional.empty();
            }
        };
    }
}
