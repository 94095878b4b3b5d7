package io.github.distributedsemaphore.redis;

import static org.awaitility.Awaitility.await;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.model.ExposedPort;
import com.github.dockerjava.api.model.PortBinding;
import com.github.dockerjava.api.model.Ports;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import java.time.Duration;
import java.util.Objects;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.utility.DockerImageName;

/** Redis 8 in a container, at the same port of this machine as long as it is used. */
final class RedisContainer implements KitServer {
    private static final int PORT = 6379;
    private static final Duration START = Duration.ofSeconds(60);

    private final int port = FreePort.any();
    private GenericContainer<?> container = launch();
    private boolean wiped;

    private GenericContainer<?> launch() {
        PortBinding binding = new PortBinding(Ports.Binding.bindPort(port), new ExposedPort(PORT));
        GenericContainer<?> launched = new GenericContainer<>(DockerImageName.parse("redis:8"))
                .withCommand("redis-server --protected-mode no --appendonly yes --appendfsync always")
                .withExposedPorts(PORT)
                .withCreateContainerCmdModifier(command ->
                        Objects.requireNonNull(command.getHostConfig()).withPortBindings(binding));
        launched.start();
        awaitReady();
        return launched;
    }

    private void awaitReady() {
        await().atMost(START)
                .until(() -> RedisServer.say("127.0.0.1", port, "PING").equals("+PONG"));
    }

    private DockerClient docker() {
        return container.getDockerClient();
    }

    @Override
    public String uri() {
        return "redis://127.0.0.1:" + port;
    }

    @Override
    public HostAndPort forReplicas() {
        return new HostAndPort(
                container
                        .getCurrentContainerInfo()
                        .getNetworkSettings()
                        .getNetworks()
                        .values()
                        .iterator()
                        .next()
                        .getIpAddress(),
                PORT);
    }

    @Override
    public boolean isRunning() {
        return !wiped && container.isRunning();
    }

    @Override
    public void stop() {
        docker().stopContainerCmd(container.getContainerId()).exec();
        awaitEnd();
    }

    @Override
    public void kill() {
        docker().killContainerCmd(container.getContainerId()).exec();
        awaitEnd();
    }

    private void awaitEnd() {
        await().atMost(START).until(() -> !container.isRunning());
    }

    /** The data end with the container; the next one takes its place. */
    @Override
    public void wipe() {
        if (isRunning()) {
            throw new IllegalStateException("stop the server before its data are removed");
        }
        container.stop();
        wiped = true;
    }

    @Override
    public void restart() {
        if (wiped) {
            container = launch();
            wiped = false;
        } else {
            docker().startContainerCmd(container.getContainerId()).exec();
            awaitReady();
        }
    }

    @Override
    public void close() {
        container.stop();
    }
}
