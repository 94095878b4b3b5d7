package io.github.distributedsemaphore.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.ContainerFetchException;

/** The compatibility kit on Redis 8 in containers. {@code -Dsemaphore.redis.uri} runs all tests on any server. */
class ContainerRedisTckTest extends SemaphoreTck {
    /** Ends with the JVM, like the other server that tests share: the kit looks at it once more when all tests are done. */
    private static final class Shared {
        static final RedisContainer CONTAINER = new RedisContainer();

        static {
            Runtime.getRuntime().addShutdownHook(new Thread(CONTAINER::close, "stop Redis 8"));
        }
    }

    @BeforeAll
    static void start() {
        try {
            Assumptions.assumeTrue(
                    DockerClientFactory.instance().isDockerAvailable(),
                    "no Docker engine answers, so Redis 8 was not tried");
            assertThat(Shared.CONTAINER.isRunning()).isTrue();
        } catch (ContainerFetchException e) {
            withoutImages(e);
        } catch (ExceptionInInitializerError e) {
            if (e.getCause() instanceof ContainerFetchException cause) {
                withoutImages(cause);
            }
            throw e;
        }
    }

    private static void withoutImages(ContainerFetchException e) {
        Assumptions.abort("the Docker engine cannot get the images, so Redis 8 was not tried: " + e.getMessage());
    }

    @Override
    public SemaphoreTckHarness harness() {
        return new RedisTckTest.Harness(Shared.CONTAINER.uri(), "tck-" + UUID.randomUUID()) {
            @Override
            public Optional<ServerControl> startServer() {
                return Optional.of(new RedisControl(settings(), RedisContainer::new));
            }

            @Override
            public boolean mayStay(Thread thread) {
                return super.mayStay(thread) || thread.getName().startsWith("testcontainers-wait");
            }
        };
    }
}
