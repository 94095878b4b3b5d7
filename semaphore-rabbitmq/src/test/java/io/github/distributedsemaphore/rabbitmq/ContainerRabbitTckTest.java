package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.Container;
import org.testcontainers.containers.ContainerFetchException;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.images.builder.Transferable;
import org.testcontainers.utility.DockerImageName;

/**
 * The kit on RabbitMQ 4 in a container, but for what stops the broker. {@code -Drabbitmq.uri} runs all tests on any broker.
 */
class ContainerRabbitTckTest extends SemaphoreTck {
    private static final int PORT = 5672;
    private static final Duration START = Duration.ofMinutes(2);

    private static GenericContainer<?> container;

    @BeforeAll
    static void start() {
        try {
            Assumptions.assumeTrue(
                    DockerClientFactory.instance().isDockerAvailable(),
                    "no Docker engine answers, so RabbitMQ 4 was not tried");
            container = new GenericContainer<>(DockerImageName.parse("rabbitmq:4"))
                    .withExposedPorts(PORT)
                    .withCopyToContainer(
                            Transferable.of("loopback_users = none\n"), "/etc/rabbitmq/conf.d/90-tests.conf")
                    .waitingFor(Wait.forLogMessage(".*Server startup complete.*\\s", 1)
                            .withStartupTimeout(START));
            container.start();
            // Not after all tests: the kit looks for what they left after that.
            Runtime.getRuntime().addShutdownHook(new Thread(container::stop, "stop RabbitMQ 4"));
        } catch (ContainerFetchException e) {
            Assumptions.abort(
                    "the Docker engine cannot get the images, so RabbitMQ 4 was not tried: " + e.getMessage());
        }
    }

    @Override
    public SemaphoreTckHarness harness() {
        String uri = "amqp://guest:guest@" + container.getHost() + ":" + container.getMappedPort(PORT);
        return new RabbitHarness(uri + RabbitTckTest.SETTINGS, new Shell(), null);
    }

    /** The broker's own tools, in the container. */
    private static final class Shell implements BrokerShell {
        @Override
        public String eval(String expression) {
            return ctl("eval", expression);
        }

        @Override
        public String ctl(String... arguments) {
            List<String> command = new ArrayList<>(List.of("rabbitmqctl"));
            command.addAll(List.of(arguments));
            try {
                Container.ExecResult result = container.execInContainer(command.toArray(String[]::new));
                if (result.getExitCode() != 0) {
                    throw new IllegalStateException(command + " failed: " + result.getStderr());
                }
                return result.getStdout();
            } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(command + " could not be run", e);
            }
        }
    }
}
