package io.github.distributedsemaphore.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.SemaphoreClient;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What becomes of a URI before there is a connection: the driver, the hosts, and the settings of TLS. */
class JdbcBackendProviderTest {
    /** The system class loader does not have it in an executable jar of Spring Boot and in a WAR. */
    @Test
    void theDriverIsFoundThatTheClassLoaderOfTheLibraryHas() throws Exception {
        URL[] path = Stream.of(
                        SemaphoreClient.class,
                        JdbcBackendProvider.class,
                        LoggerFactory.class,
                        LoggerFactory.getILoggerFactory().getClass(),
                        org.h2.Driver.class)
                .map(type -> type.getProtectionDomain().getCodeSource().getLocation())
                .toArray(URL[]::new);
        try (URLClassLoader loader = new URLClassLoader(path, ClassLoader.getPlatformClassLoader())) {
            Class<?> type = loader.loadClass(SemaphoreClient.class.getName());
            try (AutoCloseable client =
                    (AutoCloseable) type.getMethod("connect", String.class).invoke(null, "jdbc:h2:mem:loaded")) {
                Object admin = type.getMethod("admin").invoke(client);
                Object created = type.getMethod("admin")
                        .getReturnType()
                        .getMethod("create", String.class, int.class)
                        .invoke(admin, "jobs", 1);

                assertThat(created).isEqualTo(true);
            } finally {
                loader.loadClass(org.h2.Driver.class.getName())
                        .getMethod("unload")
                        .invoke(null);
            }
        }
    }
}
