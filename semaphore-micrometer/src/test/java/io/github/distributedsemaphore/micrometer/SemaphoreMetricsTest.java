package io.github.distributedsemaphore.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.test.TestSemaphores;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SemaphoreMetricsTest {
    private final TestSemaphores semaphores = TestSemaphores.manual();
    private final SemaphoreClient client = semaphores.client();
    private final MeterRegistry registry = new SimpleMeterRegistry();
    private final DistributedSemaphore exports = semaphores.create("exports", 2);

    @AfterEach
    void close() {
        semaphores.close();
    }

    private SemaphoreMetrics bound(SemaphoreMetrics.Builder builder) {
        SemaphoreMetrics metrics = builder.build();
        metrics.bindTo(registry);
        return metrics;
    }

    private double value(String name, String... tags) {
        return registry.get("distributed.semaphore." + name)
                .tags(tags)
                .meter()
                .measure()
                .iterator()
                .next()
                .getValue();
    }

    @Test
    void theVersionOfMicrometerIsTheOneOfThisRun() {
        assertThat(MeterRegistry.class
                        .getProtectionDomain()
                        .getCodeSource()
                        .getLocation()
                        .toString())
                .contains("micrometer-core-" + System.getProperty("micrometer.expected") + ".jar");
    }

    @Test
    void gaugesSayWhatIsNow() {
        bound(SemaphoreMetrics.builder(client));
        Permit one = exports.tryAcquire().orElseThrow();
        Permit two = exports.tryAcquire().orElseThrow();
        CompletableFuture<Permit> waiting = exports.acquireAsync();
        semaphores.advance(Duration.ZERO);
        assertThat(value("held", "semaphore", "exports")).isEqualTo(2);
        assertThat(value("waiters")).isEqualTo(1);
        assertThat(value("validity")).isPositive();
        one.release();
        two.release();
        waiting.join().release();
        assertThat(value("held")).isZero();
        assertThat(value("waiters")).isZero();
        assertThat(value("validity")).isNaN();
    }

    @Test
    void aLossIsCountedByItsCause() {
        bound(SemaphoreMetrics.builder(client).names("exports"));
        assertThat(value("losses", "cause", "taken_by_backend")).isZero();
        semaphores.lose(exports.tryAcquire().orElseThrow());
        semaphores.lose(exports.tryAcquire().orElseThrow(), LossCause.SESSION_ENDED);
        assertThat(value("losses", "cause", "taken_by_backend")).isEqualTo(1);
        assertThat(value("losses", "cause", "session_ended")).isEqualTo(1);
        assertThat(value("losses", "cause", "not_renewed_in_time")).isZero();
    }

    @Test
    void aScrapeAsksNoBackend() {
        bound(SemaphoreMetrics.builder(client).names("exports"));
        semaphores.unavailable(Duration.ofDays(1));
        registry.forEachMeter(meter -> meter.measure()
                .forEach(measurement -> assertThat(measurement.getValue())
                        .satisfiesAnyOf(
                                value -> assertThat(value).isNotNegative(),
                                value -> assertThat(value).isNaN())));
    }

    @Test
    void allMetersOfANameHaveTheSameTagKeys() {
        bound(SemaphoreMetrics.builder(client).names("exports", "imports").tags(List.of(Tag.of("app", "shop"))));
        registry.getMeters().stream()
                .collect(Collectors.groupingBy(meter -> meter.getId().getName()))
                .forEach((name, meters) -> {
                    Set<Set<String>> keys = meters.stream()
                            .map(meter -> meter.getId().getTags().stream()
                                    .map(Tag::getKey)
                                    .collect(Collectors.toSet()))
                            .collect(Collectors.toSet());
                    assertThat(keys).as(name).hasSize(1);
                    assertThat(keys.iterator().next()).contains("semaphore", "backend", "app");
                });
    }

    @Test
    void namesBeyondAHundredShareASeries() {
        bound(SemaphoreMetrics.builder(client));
        for (int i = 0; i < 150; i++) {
            semaphores.create("tenant " + i, 1).tryAcquire().orElseThrow().release();
        }
        assertThat(registry.get("distributed.semaphore.held").meters()).hasSize(101);
        assertThat(value("releases", "semaphore", "other")).isEqualTo(50);
    }

    @Test
    void manyNamesMayShareATag() {
        bound(SemaphoreMetrics.builder(client).nameTag(name -> name.replaceAll("\\d+", "N")));
        Permit one = semaphores.create("tenant 1", 1).tryAcquire().orElseThrow();
        Permit two = semaphores.create("tenant 2", 1).tryAcquire().orElseThrow();
        assertThat(value("held", "semaphore", "tenant N")).isEqualTo(2);
        one.release();
        two.release();
    }

    @Test
    void closingRemovesTheMetersAndCountsNoMore() {
        SemaphoreMetrics metrics = bound(SemaphoreMetrics.builder(client).names("exports"));
        assertThat(registry.getMeters()).isNotEmpty();
        metrics.close();
        metrics.close();
        exports.tryAcquire().orElseThrow().release();
        assertThat(registry.getMeters()).isEmpty();
    }

    /** Spring Boot binds a bean, and its user may bind it once more. */
    @Test
    void aRegistryThatIsBoundTwiceCountsOnceUntilTheClose() {
        SemaphoreMetrics metrics = bound(SemaphoreMetrics.builder(client).names("exports"));
        metrics.bindTo(registry);
        exports.tryAcquire().orElseThrow().release();
        assertThat(value("releases")).isEqualTo(1);
        metrics.close();
        metrics.bindTo(registry);
        exports.tryAcquire().orElseThrow().release();
        assertThat(value("releases")).isEqualTo(1);
    }

    @Test
    void aBindingThatFailsLeavesNothingAndMayBeTriedAgain() {
        AtomicInteger asked = new AtomicInteger();
        SemaphoreMetrics metrics = SemaphoreMetrics.builder(client)
                .names("imports", "exports")
                .nameTag(name -> {
                    if (asked.incrementAndGet() == 2) {
                        throw new IllegalStateException("no tag");
                    }
                    return name;
                })
                .build();
        assertThatThrownBy(() -> metrics.bindTo(registry)).hasMessage("no tag");
        assertThat(registry.getMeters()).isEmpty();
        metrics.bindTo(registry);
        exports.tryAcquire().orElseThrow().release();
        assertThat(value("releases", "semaphore", "exports")).isEqualTo(1);
    }

    @Test
    void aCloseDuringTheBindingLeavesNoListener() {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch closed = new CountDownLatch(1);
        AtomicInteger asked = new AtomicInteger();
        SemaphoreMetrics metrics = SemaphoreMetrics.builder(client)
                .names("exports")
                .nameTag(name -> {
                    asked.incrementAndGet();
                    entered.countDown();
                    awaitUnchecked(closed);
                    return name;
                })
                .build();
        CompletableFuture<Void> binding = CompletableFuture.runAsync(() -> metrics.bindTo(registry));
        awaitUnchecked(entered);
        metrics.close();
        closed.countDown();
        binding.join();
        exports.tryAcquire().orElseThrow().release();
        semaphores.advance(Duration.ZERO);
        assertThat(asked).hasValue(1);
        assertThat(registry.getMeters()).isEmpty();
    }

    @Test
    void anEventThatIsUnderWayDuringTheCloseRegistersNoMeters() {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch closed = new CountDownLatch(1);
        SemaphoreMetrics metrics = bound(SemaphoreMetrics.builder(client).nameTag(name -> {
            entered.countDown();
            awaitUnchecked(closed);
            return name;
        }));
        CompletableFuture<Void> event = CompletableFuture.runAsync(
                () -> exports.tryAcquire().orElseThrow().release());
        awaitUnchecked(entered);
        metrics.close();
        closed.countDown();
        event.join();
        assertThat(registry.getMeters()).isEmpty();
    }

    private static void awaitUnchecked(CountDownLatch latch) {
        try {
            assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void limitsAreSampledInTheBackground() {
        Permit held = exports.tryAcquire().orElseThrow();
        try (SemaphoreMetrics metrics =
                bound(SemaphoreMetrics.builder(client).names("exports").sampleLimits(Duration.ofSeconds(1)))) {
            assertThat(metrics).isNotNull();
            while (Double.isNaN(value("limit"))) {
                Thread.onSpinWait();
            }
            assertThat(value("limit")).isEqualTo(2);
            assertThat(value("free")).isEqualTo(1);
        }
        held.release();
    }

    @Test
    void aSemaphoreThatTheApplicationLetGoIsSampledOn() {
        WeakReference<DistributedSemaphore> idle = new WeakReference<>(semaphores.create("archive", 3));
        try (SemaphoreMetrics metrics = bound(
                SemaphoreMetrics.builder(client).names("exports", "archive").sampleLimits(Duration.ofSeconds(1)))) {
            assertThat(metrics).isNotNull();
            await().untilAsserted(() ->
                    assertThat(value("limit", "semaphore", "archive")).isEqualTo(3));
            await().until(() -> {
                System.gc();
                return idle.get() == null;
            });
            // The first event of another semaphore is when those that are gone are forgotten.
            semaphores.create("imports", 1).tryAcquire().orElseThrow().release();
            client.admin().resize("archive", 5);
            await().untilAsserted(() ->
                    assertThat(value("limit", "semaphore", "archive")).isEqualTo(5));
        }
    }

    @Test
    void aSemaphoreThatIsNotThereHasNoLimit() {
        try (SemaphoreMetrics metrics = bound(
                SemaphoreMetrics.builder(client).names("missing", "exports").sampleLimits(Duration.ofSeconds(1)))) {
            assertThat(metrics).isNotNull();
            await().untilAsserted(() ->
                    assertThat(value("limit", "semaphore", "exports")).isEqualTo(2));
            assertThat(value("limit", "semaphore", "missing")).isNaN();
            assertThat(value("free", "semaphore", "missing")).isNaN();
        }
    }

    /** The second sweep gets one answer, that the backend is away; a further question would not end. */
    @Test
    void anOutageEndsTheSweepAndLeavesNoOldValues() {
        semaphores.create("archive", 3);
        CountDownLatch seen = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        AtomicInteger asked = new AtomicInteger();
        SemaphoreAdmin admin = changed(SemaphoreAdmin.class, client.admin(), "describe", real -> {
            int question = asked.incrementAndGet();
            if (question <= 2) {
                return real.call();
            }
            awaitUnchecked(question == 3 ? seen : end);
            throw new BackendUnavailableException("away", null);
        });
        SemaphoreClient changed = changed(SemaphoreClient.class, client, "admin", real -> admin);
        try (SemaphoreMetrics metrics = bound(
                SemaphoreMetrics.builder(changed).names("exports", "archive").sampleLimits(Duration.ofSeconds(1)))) {
            assertThat(metrics).isNotNull();
            await().untilAsserted(() -> assertThat(limits()).containsExactlyInAnyOrder(2.0, 3.0));
            seen.countDown();
            await().untilAsserted(() -> assertThat(limits()).containsOnly(Double.NaN));
        } finally {
            end.countDown();
        }
    }

    @Test
    void anErrorIsOneFailedSample() {
        CountDownLatch seen = new CountDownLatch(1);
        AtomicInteger asked = new AtomicInteger();
        SemaphoreAdmin admin = changed(SemaphoreAdmin.class, client.admin(), "describe", real -> {
            int question = asked.incrementAndGet();
            if (question == 2) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            if (question == 3) {
                awaitUnchecked(seen);
            }
            return real.call();
        });
        SemaphoreClient changed = changed(SemaphoreClient.class, client, "admin", real -> admin);
        try (SemaphoreMetrics metrics =
                bound(SemaphoreMetrics.builder(changed).names("exports").sampleLimits(Duration.ofSeconds(1)))) {
            assertThat(metrics).isNotNull();
            await().untilAsserted(() -> assertThat(value("limit")).isEqualTo(2));
            await().untilAsserted(() -> assertThat(value("limit")).isNaN());
            seen.countDown();
            await().untilAsserted(() -> assertThat(value("limit")).isEqualTo(2));
        } finally {
            seen.countDown();
        }
    }

    private List<Double> limits() {
        return List.of(value("limit", "semaphore", "exports"), value("limit", "semaphore", "archive"));
    }

    /** One method done otherwise. */
    private static <T> T changed(
            Class<T> type, T target, String name, ThrowingFunction<Callable<Object>, Object> otherwise) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    Callable<Object> real = () -> method.invoke(target, arguments);
                    return method.getName().equals(name) ? otherwise.apply(real) : real.call();
                }));
    }

    @FunctionalInterface
    private interface ThrowingFunction<A, B> {
        B apply(A argument) throws Exception;
    }

    @Test
    void aSampleThatIsOutOfRangeNamesTheBounds() {
        assertThatThrownBy(() -> SemaphoreMetrics.builder(client).sampleLimits(Duration.ofMillis(5)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("PT0.005S", "1s", "1h");
    }
}
