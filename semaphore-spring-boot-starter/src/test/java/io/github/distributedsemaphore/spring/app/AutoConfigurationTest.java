package io.github.distributedsemaphore.spring.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spring.WithPermit;
import io.github.distributedsemaphore.spring.boot.ConditionalOnBackend;
import io.github.distributedsemaphore.spring.boot.NoBackendException;
import io.github.distributedsemaphore.spring.boot.SemaphoreAutoConfiguration;
import io.github.distributedsemaphore.spring.boot.SemaphoreConnectionDetails;
import io.github.distributedsemaphore.spring.boot.SemaphoreHealth;
import io.github.distributedsemaphore.spring.boot.SemaphoreMetricsAutoConfiguration;
import io.github.distributedsemaphore.spring.boot.SemaphoresEndpoint;
import io.github.distributedsemaphore.spring.boot.SemaphoresEndpointAutoConfiguration;
import io.github.distributedsemaphore.test.TestSemaphores;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.commons.logging.LogFactory;
import org.assertj.core.util.Throwables;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.core.io.support.SpringFactoriesLoader;
import org.springframework.core.io.support.SpringFactoriesLoader.FailureHandler;
import org.springframework.test.util.ReflectionTestUtils;

/** What the properties do, without a server. */
@ExtendWith(OutputCaptureExtension.class)
final class AutoConfigurationTest {
    private final String backend = "memory:" + UUID.randomUUID();
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    SemaphoreAutoConfiguration.class,
                    SemaphoresEndpointAutoConfiguration.class,
                    AopAutoConfiguration.class));
    private final ApplicationContextRunner inMemory = runner.withPropertyValues("distributed-semaphore.uri=" + backend);

    @Test
    void withoutABackendTheStartFailsAndSaysWhatToSet() {
        runner.run(context -> {
            assertThat(context).hasFailed();
            assertThat(context.getStartupFailure()).hasRootCauseInstanceOf(NoBackendException.class);
        });
    }

    @Test
    void theStartOfAnApplicationWithoutABackendPrintsWhatToSet(CapturedOutput output) {
        try {
            new SpringApplicationBuilder(SemaphoreAutoConfiguration.class)
                    .web(WebApplicationType.NONE)
                    .run()
                    .close();
        } catch (RuntimeException expected) {
            assertThat(expected).hasRootCauseInstanceOf(NoBackendException.class);
        }
        assertThat(output)
                .contains("APPLICATION FAILED TO START", "set distributed-semaphore.uri, such as redis://cache:6379");
    }

    @Test
    void semaphoresAreCreatedAtTheStart() {
        inMemory.withPropertyValues("distributed-semaphore.semaphores.exports.limit=3")
                .run(context -> {
                    SemaphoreClient client = context.getBean(SemaphoreClient.class);
                    assertThat(client.admin().status("exports").orElseThrow().limit())
                            .isEqualTo(3);
                    assertThat(context.getBean(SemaphoreHealth.class).check()).containsEntry("held", 0);
                });
    }

    @Test
    void anotherLimitIsAdoptedKeptOrRefused() {
        try (SemaphoreClient other = SemaphoreClient.connect(backend)) {
            other.admin().create("exports", 5);
            ApplicationContextRunner wantsThree =
                    inMemory.withPropertyValues("distributed-semaphore.semaphores.exports.limit=3");

            wantsThree
                    .withPropertyValues("distributed-semaphore.semaphores.exports.on-conflict=keep")
                    .run(context -> assertThat(limitOf(other)).isEqualTo(5));
            wantsThree
                    .withPropertyValues("distributed-semaphore.semaphores.exports.on-conflict=fail")
                    .run(context -> assertThat(context.getStartupFailure())
                            .hasRootCauseInstanceOf(LimitConflictException.class));
            wantsThree.run(context -> assertThat(limitOf(other)).isEqualTo(3));
        }
    }

    private static int limitOf(SemaphoreClient client) {
        return client.admin().status("exports").orElseThrow().limit();
    }

    @Test
    void badPropertiesAreNamed() {
        inMemory.withPropertyValues("distributed-semaphore.semaphores.exports.limit=0")
                .run(context -> assertThat(context.getStartupFailure())
                        .hasStackTraceContaining("The limit of a semaphore is 0, it must be at least 1"));
        inMemory.withPropertyValues("distributed-semaphore.settings.colour=red")
                .run(context -> assertThat(context.getStartupFailure()).hasStackTraceContaining("colour"));
        inMemory.withPropertyValues("distributed-semaphore.health.timeout=0s")
                .run(context -> assertThat(context.getStartupFailure())
                        .hasStackTraceContaining(
                                "The timeout of the health indicator is PT0S, it must be more than 0"));
        inMemory.withPropertyValues("distributed-semaphore.shutdown.await-holders=-10s")
                .run(context -> assertThat(context.getStartupFailure())
                        .hasStackTraceContaining(
                                "The longest wait of the shutdown is PT-10S, it must not be negative"));
    }

    @Test
    void aClientOfTheApplicationComesFirst() {
        runner.withUserConfiguration(OwnClient.class)
                .run(context ->
                        assertThat(context).hasSingleBean(SemaphoreClient.class).hasBean("own"));
    }

    static class OwnClient {
        @Bean
        SemaphoreClient own() {
            return SemaphoreClient.connect("memory:own");
        }
    }

    @Test
    void connectionDetailsSayWhereTheBackendIs() {
        runner.withBean(
                        SemaphoreConnectionDetails.class,
                        () -> SemaphoreConnectionDetails.of(backend, null, null, null))
                .run(context -> assertThat(context.getBean(SemaphoreClient.class)
                                .guarantees()
                                .backend())
                        .isEqualTo("memory"));
    }

    @Test
    void aLabelInTheUriOfConnectionDetailsComesBeforeTheNameOfTheApplication() {
        runner.withPropertyValues("spring.application.name=shop")
                .withBean(
                        SemaphoreConnectionDetails.class,
                        () -> SemaphoreConnectionDetails.of(backend + "?label=till", null, null, null))
                .run(context -> assertThat(context).hasNotFailed());
    }

    @Test
    void anAddressWithTheTextOfALabelIsNoLabel() {
        runner.withPropertyValues(
                        "spring.application.name=shop",
                        "distributed-semaphore.uri=memory:label=" + UUID.randomUUID(),
                        "distributed-semaphore.semaphores.exports.limit=1")
                .run(context -> {
                    SemaphoreClient client = context.getBean(SemaphoreClient.class);
                    try (Permit held = client.semaphore("exports").acquire()) {
                        assertThat(held.isValid()).isTrue();
                        assertThat(client.admin()
                                        .describe("exports")
                                        .orElseThrow()
                                        .holders())
                                .extracting(Holder::label)
                                .containsExactly("shop");
                    }
                });
    }

    @Test
    void twoConnectionsAreNotChosenFromAndTheirCredentialsAreNotShown() {
        SemaphoreConnectionDetails sentinels = SemaphoreConnectionDetails.of(
                "redis-sentinel://a/0?master=main&sentinelPassword=secret", "app", "secret", null);
        SemaphoreConnectionDetails unreadable = SemaphoreConnectionDetails.of("redis://:se/secret@c", null, null, null);
        assertThat(sentinels).hasToString("redis-sentinel://a/0");
        assertThat(unreadable.toString()).doesNotContain("secret");
        runner.withBean("a", SemaphoreConnectionDetails.class, () -> sentinels)
                .withBean(
                        "b",
                        SemaphoreConnectionDetails.class,
                        () -> SemaphoreConnectionDetails.of("amqp://app:secret@b", null, null, null))
                .withBean("c", SemaphoreConnectionDetails.class, () -> unreadable)
                .run(context -> assertThat(Throwables.getStackTrace(context.getStartupFailure()))
                        .contains("Several backends for distributed semaphores are configured:"
                                + " redis-sentinel://a/0, amqp://b, ")
                        .doesNotContain("secret"));
    }

    @Test
    void theEndpointShowsWhatIsUsed() {
        inMemory.withPropertyValues(
                        "distributed-semaphore.semaphores.exports.limit=3",
                        "management.endpoints.web.exposure.include=semaphores",
                        "management.endpoints.jmx.exposure.include=semaphores")
                .withBean(Exports.class)
                .run(context -> {
                    context.getBean(Exports.class).export();
                    SemaphoresEndpoint endpoint = context.getBean(SemaphoresEndpoint.class);
                    assertThat(endpoint.semaphores().get("exports")).containsEntry("released", 1L);
                    assertThat(endpoint.semaphore("exports")).containsEntry("limit", 3);
                    assertThat(endpoint.semaphore("imports")).isNull();
                });
    }

    @Test
    void theEndpointCountsOnWhenASemaphoreRestedMeanwhile() {
        try (TestSemaphores semaphores = TestSemaphores.manual()) {
            semaphores.create("exports", 1);
            runner.withPropertyValues("management.endpoints.web.exposure.include=semaphores")
                    .withBean(SemaphoreClient.class, semaphores::client)
                    .run(context -> {
                        SemaphoreClient client = context.getBean(SemaphoreClient.class);
                        client.semaphore("exports").tryAcquire().orElseThrow().release();
                        WeakReference<DistributedSemaphore> idle = new WeakReference<>(client.semaphore("imports"));
                        semaphores.advance(Duration.ofMinutes(5));
                        await().until(() -> {
                            System.gc();
                            return idle.get() == null;
                        });
                        assertThat(context.getBean(SemaphoresEndpoint.class)
                                        .semaphores()
                                        .get("exports"))
                                .containsEntry("granted", 1L)
                                .containsEntry("released", 1L);
                    });
        }
    }

    @Test
    void theEndpointListsASemaphoreWhoseCallsGetNothing() {
        try (SemaphoreClient other = SemaphoreClient.connect(backend)) {
            other.admin().create("exports", 1);
            inMemory.withPropertyValues("management.endpoints.web.exposure.include=semaphores")
                    .run(context -> {
                        SemaphoreClient client = context.getBean(SemaphoreClient.class);
                        try (Permit all = other.semaphore("exports").acquire()) {
                            assertThat(all.isValid()).isTrue();
                            assertThat(client.semaphore("exports").tryAcquire()).isEmpty();
                        }
                        assertThatThrownBy(() -> client.semaphore("missing").acquire())
                                .isInstanceOf(SemaphoreException.class);
                        SemaphoresEndpoint endpoint = context.getBean(SemaphoresEndpoint.class);
                        // The caller may go on before listeners have heard of the end of its call.
                        await().untilAsserted(() -> {
                            Map<String, Map<String, Object>> shown = endpoint.semaphores();
                            assertThat(shown.get("exports")).containsEntry("refused", 1L);
                            assertThat(shown.get("missing")).containsEntry("failed", 1L);
                        });
                    });
        }
    }

    @Test
    void theEndpointListsASemaphoreWhoseFirstCallStillWaits() {
        try (SemaphoreClient other = SemaphoreClient.connect(backend)) {
            other.admin().create("exports", 1);
            inMemory.withPropertyValues("management.endpoints.web.exposure.include=semaphores")
                    .run(context -> {
                        try (Permit all = other.semaphore("exports").acquire()) {
                            assertThat(all.isValid()).isTrue();
                            CompletableFuture<Permit> waiting = context.getBean(SemaphoreClient.class)
                                    .semaphore("exports")
                                    .acquireAsync();
                            SemaphoresEndpoint endpoint = context.getBean(SemaphoresEndpoint.class);
                            await().untilAsserted(() -> assertThat(
                                            endpoint.semaphores().get("exports"))
                                    .containsEntry("waiting", 1));
                            waiting.cancel(true);
                        }
                    });
        }
    }

    @Test
    void metersAreThereToBeBound() {
        ApplicationContextRunner withMetrics = inMemory.withConfiguration(
                        AutoConfigurations.of(SemaphoreMetricsAutoConfiguration.class))
                .withPropertyValues("distributed-semaphore.semaphores.exports.limit=3");
        withMetrics.run(context -> {
            SimpleMeterRegistry registry = new SimpleMeterRegistry();
            context.getBean(MeterBinder.class).bindTo(registry);
            assertThat(registry.get("distributed.semaphore.held")
                            .tag("semaphore", "exports")
                            .gauge()
                            .value())
                    .isZero();
        });
        withMetrics
                .withPropertyValues("distributed-semaphore.metrics.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(MeterBinder.class));
    }

    @EnableAutoConfiguration
    static class Everything {}

    @Test
    void aHealthCheckThatIsInterruptedLeavesItsThreadInterrupted() {
        inMemory.withUserConfiguration(Everything.class).run(context -> {
            // Its type is in another package in each version of Spring Boot.
            Object indicator = context.getBean("distributedSemaphoreHealthIndicator");
            Thread.currentThread().interrupt();
            Object health = ReflectionTestUtils.invokeMethod(indicator, "health");
            assertThat(Thread.interrupted()).isTrue();
            assertThat(health).asString().contains("DOWN");
        });
    }

    @ConditionalOnBackend("redis")
    static class NeedsRedis {}

    @Test
    void aProviderThatCannotBeLoadedHidesNoOther(@TempDir Path folder) throws IOException {
        new ApplicationContextRunner()
                .withClassLoader(withBrokenProvider(folder))
                .withUserConfiguration(NeedsRedis.class)
                .run(context -> assertThat(context).hasSingleBean(NeedsRedis.class));
    }

    private static ClassLoader withBrokenProvider(Path folder) throws IOException {
        Path broken = folder.resolve("providers");
        Files.writeString(broken, "no.such.Provider");
        return new ClassLoader(AutoConfigurationTest.class.getClassLoader()) {
            @Override
            public Enumeration<URL> getResources(String name) throws IOException {
                List<URL> found = Collections.list(super.getResources(name));
                if (name.equals("META-INF/services/" + BackendProvider.class.getName())) {
                    found.add(0, broken.toUri().toURL());
                }
                return Collections.enumeration(found);
            }
        };
    }

    @Test
    void theBackendsOnThePathAreKnownAheadOfTime() {
        assertBackendsAreKnownAheadOfTime(getClass().getClassLoader());
    }

    @Test
    void aProviderThatCannotBeLoadedHidesNoOtherAheadOfTime(@TempDir Path folder) throws IOException {
        assertBackendsAreKnownAheadOfTime(withBrokenProvider(folder));
    }

    private void assertBackendsAreKnownAheadOfTime(ClassLoader loader) {
        RuntimeHints hints = new RuntimeHints();
        SpringFactoriesLoader.forResourceLocation("META-INF/spring/aot.factories")
                .load(RuntimeHintsRegistrar.class, FailureHandler.logging(LogFactory.getLog(getClass())))
                .stream()
                .filter(registrar -> registrar.getClass().getName().startsWith("io.github.distributedsemaphore"))
                .forEach(registrar -> registrar.registerHints(hints, loader));

        assertThat(RuntimeHintsPredicates.resource()
                        .forResource("META-INF/services/" + BackendProvider.class.getName()))
                .accepts(hints);
        ServiceLoader.load(BackendProvider.class).stream()
                .forEach(provider -> assertThat(
                                RuntimeHintsPredicates.reflection().onType(provider.type()))
                        .accepts(hints));
    }

    @Test
    void methodsWaitAsLongAsThePropertySays() {
        inMemory.withPropertyValues(
                        "distributed-semaphore.semaphores.exports.limit=1",
                        "distributed-semaphore.methods.max-wait=10ms")
                .withBean(Exports.class)
                .run(context -> {
                    try (var all = context.getBean(SemaphoreClient.class)
                            .semaphore("exports")
                            .acquire()) {
                        assertThat(all.isValid()).isTrue();
                        assertThat(catchThrowable(
                                        () -> context.getBean(Exports.class).export()))
                                .hasMessageContaining("10ms");
                    }
                });
    }

    static class Exports {
        @WithPermit("exports")
        void export() {}
    }

    @Test
    void anApplicationThatClosesGivesItsPermitsBackAndItsContextIsNotPaused() {
        try (SemaphoreClient other = SemaphoreClient.connect(backend)) {
            inMemory.withPropertyValues(
                            "distributed-semaphore.semaphores.exports.limit=3",
                            "distributed-semaphore.shutdown.await-holders=10ms")
                    .run(context -> {
                        var forgotten = context.getBean(SemaphoreClient.class)
                                .semaphore("exports")
                                .acquire();
                        assertThat(forgotten.isValid()).isTrue();
                        assertThat(other.semaphore("exports").availablePermits())
                                .isEqualTo(2);
                    });
            assertThat(other.semaphore("exports").availablePermits()).isEqualTo(3);
        }
    }

    @Test
    void aShutdownMayAwaitItsHoldersForCenturies() {
        inMemory.withPropertyValues(
                        "distributed-semaphore.semaphores.exports.limit=1",
                        "distributed-semaphore.shutdown.await-holders=200000d")
                .run(context -> {
                    Permit held = context.getBean(SemaphoreClient.class)
                            .semaphore("exports")
                            .acquire();
                    SemaphoreHealth health = context.getBean(SemaphoreHealth.class);
                    await().untilAsserted(() -> assertThat(health.check()).containsEntry("held", 1));
                    Thread closing = new Thread(context::close);
                    closing.start();
                    await().until(() -> closing.getState() == Thread.State.TIMED_WAITING || !closing.isAlive());
                    assertThat(held.isValid()).isTrue();
                    held.release();
                    closing.join();
                });
    }

    @Test
    void whatABeanAcquiresWhenItIsMadeCounts() {
        try (SemaphoreClient other = SemaphoreClient.connect(backend)) {
            other.admin().create("exports", 2);
            inMemory.withBean(Leader.class).run(context -> {
                SemaphoreHealth health = context.getBean(SemaphoreHealth.class);
                assertThat(health.check()).containsEntry("held", 1);
                context.getBean(Leader.class).permit.release();
                assertThat(health.check()).containsEntry("held", 0);
            });
        }
    }

    @Test
    void whatTheBeanMethodOfAClientAcquiredHidesNoOtherHolder() {
        AtomicReference<Permit> early = new AtomicReference<>();
        runner.withBean(SemaphoreClient.class, () -> {
                    SemaphoreClient client = SemaphoreClient.connect(backend);
                    client.admin().create("exports", 2);
                    early.set(client.semaphore("exports").tryAcquire().orElseThrow());
                    return client;
                })
                .run(context -> {
                    SemaphoreHealth health = context.getBean(SemaphoreHealth.class);
                    early.get().release();
                    assertThat(health.check()).containsEntry("held", 0);
                    Permit held = context.getBean(SemaphoreClient.class)
                            .semaphore("exports")
                            .acquire();
                    assertThat(health.check()).containsEntry("held", 1);
                    held.release();
                    assertThat(health.check()).containsEntry("held", 0);
                });
    }

    @Test
    void aBeanMayAcquireAConfiguredSemaphoreWhenItIsMade() {
        inMemory.withPropertyValues("distributed-semaphore.semaphores.exports.limit=2")
                .withBean(Leader.class)
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    context.getBean(Leader.class).permit.release();
                });
    }

    @Test
    void aClientOfTheApplicationGetsTheConfiguredSemaphoresToo() {
        runner.withPropertyValues("distributed-semaphore.semaphores.exports.limit=3")
                .withBean(SemaphoreClient.class, () -> SemaphoreClient.connect(backend))
                .run(context -> assertThat(limitOf(context.getBean(SemaphoreClient.class)))
                        .isEqualTo(3));
    }

    static class Leader {
        final Permit permit;

        Leader(SemaphoreClient client) throws InterruptedException {
            permit = client.semaphore("exports").acquire();
        }
    }

    @Test
    void everyPropertyHasADescription() throws IOException {
        try (InputStream found =
                SemaphoreAutoConfiguration.class.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
            String metadata = new String(found.readAllBytes(), StandardCharsets.UTF_8);
            String properties = metadata.substring(metadata.indexOf("\"properties\""));
            String[] names = properties.split("\"name\": \"distributed-semaphore");
            assertThat(names.length - 1).isGreaterThanOrEqualTo(8);
            assertThat(Arrays.stream(names).skip(1))
                    .allSatisfy(property -> assertThat(property).contains("\"description\""));
        }
    }
}
