package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClientBuilder;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** From a URI and settings to a client, and the names it takes. */
class ClientsTest {
    private final AtomicInteger closed = new AtomicInteger();

    private SemaphoreClientBuilder builder() {
        return SemaphoreClient.builder(new MemoryBackend(new MemoryServer(), new HolderInfo("host", 1, "")) {
            @Override
            public void close() {
                closed.incrementAndGet();
            }
        });
    }

    @ParameterizedTest
    @CsvSource({
        "redis://user:secret@h, semaphore-redis",
        "rediss://h, semaphore-redis",
        "redis-sentinel://h, semaphore-redis",
        "redis-cluster://h, semaphore-redis",
        "amqp://user:secret@h, semaphore-rabbitmq",
        "amqps://h, semaphore-rabbitmq",
        "consul://h, semaphore-consul",
        "consul+https://h, semaphore-consul",
        "memory:, semaphore-test",
        "local:/p, semaphore-local"
    })
    void aSchemeWithoutItsModuleNamesTheModule(String uri, String module) {
        assertThatThrownBy(() -> SemaphoreClient.connect(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("io.github.distributedsemaphore:" + module)
                .hasMessageNotContaining("secret");
    }

    @Test
    void aSchemeThatNobodyKnowsNamesThoseThatAreThere() {
        assertThatThrownBy(() -> SemaphoreClient.connect("reddis://h"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("'reddis:'", "schemes on the path");
    }

    @ParameterizedTest
    @CsvSource({
        "handOffs, -1, 0 to 10000",
        "handOffs, 10001, 0 to 10000",
        "handOffTime, 11s, 0s to 10s",
        "recheck, 0s, 1ms to 1m",
        "recheck, 61s, 1ms to 1m",
        "turn, 2s, 0s to 1s",
        "turn, soon, 500ms",
        "detction, 10s, detction"
    })
    void aRefusedSettingNamesValueAndBoundAndClosesTheBackend(String name, String value, String bound) {
        assertThatThrownBy(() -> builder().set(name, value).connect())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(name, bound);
        assertThat(closed).hasValue(1);
    }

    @Test
    void aBackendIsClosedIfItsClientFindsNoThread() {
        class Starved extends MemoryBackend implements Environment.Source {
            Starved() {
                super(new MemoryServer(), new HolderInfo("host", 1, ""));
            }

            @Override
            public Environment environment() {
                throw new OutOfMemoryError("unable to create native thread (by the test)");
            }

            @Override
            public void close() {
                closed.incrementAndGet();
            }
        }
        assertThatThrownBy(() -> SemaphoreClient.builder(new Starved()).connect())
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(closed).hasValue(1);
    }

    /** An adapter may have any name, also one that no scheme of a URI could be. */
    @ParameterizedTest
    @ValueSource(strings = {"my_store", "My Store", "50%?a=b"})
    void theNameOfABackendIsTakenAsItIs(String name) {
        SemaphoreBackend backend = new MemoryBackend(new MemoryServer(), new HolderInfo("host", 1, "")) {
            @Override
            public Guarantees guarantees() {
                return GuaranteesBuilder.of(name).sizes(255, 1_000).build();
            }
        };
        SemaphoreClient.builder(backend).set("recheck", "2s").connect().close();
        assertThatThrownBy(() ->
                        SemaphoreClient.builder(backend).set("rechek", "2s").connect())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("rechek", "for " + name + ":");
    }

    @Test
    void theBoundsThemselvesAreTaken() {
        builder().handOffs(10_000).handOffTime(Duration.ofSeconds(10)).connect().close();
        builder().handOffs(0).handOffTime(Duration.ZERO).connect().close();
        builder().set("recheck", "1ms").set("turn", "1s").connect().close();
        builder().set("recheck", "1m").set("turn", "0s").connect().close();
        assertThat(closed).hasValue(4);
    }

    @Test
    void theBuilderRefusesWhatAUriWould() {
        assertThatThrownBy(() -> builder().handOffTime(Duration.ofMillis(-5)).connect())
                .hasMessageContainingAll("'handOffTime'", "-5ms");
        assertThatThrownBy(() -> builder()
                        .handOffTime(Duration.ofSeconds(Long.MAX_VALUE))
                        .connect())
                .hasMessageContaining("'handOffTime'");
        assertThatThrownBy(() -> builder().label("a").set("label", "b")).hasMessageContaining("given twice");
    }

    @Test
    void credentialsAndManagersThatNothingReadsAreRefused() throws Exception {
        assertThatThrownBy(() -> builder().credentials("user", "secret").connect())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("memory:")
                .hasMessageNotContaining("secret");
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        assertThatThrownBy(() -> builder().trustManagers(trust).connect())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("memory:");
        assertThat(closed).hasValue(2);
        assertThatThrownBy(() ->
                        SemaphoreClient.builder("redis://user:secret@host").credentials("other", "word"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("twice")
                .hasMessageNotContaining("secret");
    }

    @Test
    void theBoundOfHandOffIsPartOfTheGuarantees() {
        try (SemaphoreClient client =
                builder().handOffTime(Duration.ofMillis(7)).connect()) {
            assertThat(client.guarantees().handOffBound()).isEqualTo(Duration.ofMillis(14));
        }
        try (SemaphoreClient client = builder().handOffs(0).connect()) {
            assertThat(client.guarantees().handOffBound()).isZero();
        }
    }

    @Test
    void namesAreAnyTextUpToALengthInBytes() {
        try (SemaphoreClient client = builder().connect()) {
            for (String name :
                    new String[] {"a", " a ", "é".repeat(500), "n".repeat(1_000), "\uD83D\uDE00", "a/b?c#\0"}) {
                assertThat(client.semaphore(name).name()).isEqualTo(name);
                assertThat(client.semaphore(name)).isSameAs(client.semaphore(name));
                assertThat(client.admin().create(name, 1)).isTrue();
            }
            assertThat(client.semaphore("A")).isNotSameAs(client.semaphore("a"));
            refused(client, "", "blank");
            refused(client, " \t\n", "blank");
            refused(client, "n".repeat(1_001), "1001 bytes");
            refused(client, "é".repeat(501), "at most 1000");
            refused(client, "a\uD83D", "surrogate");
            refused(client, "\uDE00a", "surrogate");
        }
    }

    private static void refused(SemaphoreClient client, String name, String why) {
        assertThatThrownBy(() -> client.semaphore(name))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(why);
        assertThatThrownBy(() -> client.admin().create(name, 1)).hasMessageContaining(why);
        assertThatThrownBy(() -> client.admin().describe(name)).hasMessageContaining(why);
    }

    @Test
    void limitsAreBounded() {
        try (SemaphoreClient client = builder().connect()) {
            for (int limit : new int[] {0, -1, 100_001}) {
                assertThatThrownBy(() -> client.admin().create("a", limit))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContainingAll("limit " + limit, "1 to 100000");
                assertThatThrownBy(() -> client.admin().resize("a", limit)).hasMessageContaining("1 to 100000");
            }
            assertThat(client.admin().create("a", 100_000)).isTrue();
        }
    }

    @Test
    void aBackendThatIsMadeAlreadyRefusesALabelAndIsClosed() {
        assertThatThrownBy(() -> builder().label("nightly").connect())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("'label'", "nightly");
        assertThat(closed).hasValue(1);
        builder().label("").connect().close();
    }

    @Test
    void aBrokenProviderOnThePathMattersOnlyIfTheSchemeIsNotFound(@TempDir Path folder) throws IOException {
        Path services = Files.createDirectories(folder.resolve("META-INF/services"));
        Files.write(
                services.resolve(BackendProvider.class.getName()),
                List.of("not.there.Provider", Broken.class.getName(), Fine.class.getName()));
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {folder.toUri().toURL()}, before)) {
            Thread.currentThread().setContextClassLoader(loader);
            SemaphoreClient.connect("fine:").close();
            assertThatThrownBy(() -> SemaphoreClient.connect("finer:"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("'finer:'", "fine", "not.there.Provider")
                    .satisfies(e -> assertThat(e.getSuppressed()).hasSize(2));
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    /** Found by the service loader. */
    public static class Fine implements BackendProvider {
        @Override
        public Set<String> schemes() {
            return Set.of("fine");
        }

        @Override
        public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
            return new MemoryBackend(new MemoryServer(), self);
        }
    }

    /** Lacks something on the path. */
    public static final class Broken extends Fine {
        /** Fails. */
        public Broken() {
            throw new IllegalStateException("a library is missing");
        }
    }
}
