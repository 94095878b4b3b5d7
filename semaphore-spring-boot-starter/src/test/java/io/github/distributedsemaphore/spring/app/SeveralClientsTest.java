package io.github.distributedsemaphore.spring.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreListener;
import io.github.distributedsemaphore.spring.boot.SemaphoreAutoConfiguration;
import io.github.distributedsemaphore.spring.boot.SemaphoreHealth;
import io.github.distributedsemaphore.spring.boot.SemaphoresEndpoint;
import io.github.distributedsemaphore.spring.boot.SemaphoresEndpointAutoConfiguration;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.Lifecycle;

/** Applications with several clients or several contexts. */
final class SeveralClientsTest {
    private final String backend = "memory:" + UUID.randomUUID();
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(
                    SemaphoreAutoConfiguration.class,
                    SemaphoresEndpointAutoConfiguration.class,
                    AopAutoConfiguration.class))
            .withPropertyValues("management.endpoints.web.exposure.include=semaphores");
    private final ApplicationContextRunner inMemory = runner.withPropertyValues(
            "distributed-semaphore.uri=" + backend, "distributed-semaphore.semaphores.exports.limit=3");

    @Test
    void aChildContextThatClosesLeavesTheClientOfItsParentAlone() {
        inMemory.run(parent -> {
            SemaphoreClient client = parent.getBean(SemaphoreClient.class);
            Permit held = client.semaphore("exports").acquire();
            long start = System.nanoTime();
            runner.withParent(parent).run(child -> {
                assertThat(child.getBean(SemaphoreClient.class)).isSameAs(client);
                client.semaphore("exports").acquire().release();
            });
            assertThat(Duration.ofNanos(System.nanoTime() - start))
                    .as("the child does not wait for who holds a permit of its parent's client")
                    .isLessThan(Duration.ofSeconds(10));
            assertThat(held.isValid()).isTrue();
            client.semaphore("exports").acquire().release();
            held.release();
        });
    }

    @Test
    void aChildContextCountsWhatItsOwnClientHolds() {
        inMemory.run(parent -> {
            Permit ofParent =
                    parent.getBean(SemaphoreClient.class).semaphore("exports").acquire();
            runner.withParent(parent)
                    .withBean(
                            "own",
                            SemaphoreClient.class,
                            () -> SemaphoreClient.connect(backend),
                            own -> own.setPrimary(true))
                    .run(child -> {
                        Permit own = child.getBean("own", SemaphoreClient.class)
                                .semaphore("exports")
                                .acquire();
                        ofParent.release();
                        SemaphoreHealth health = child.getBean(SemaphoreHealth.class);
                        // The caller may go on before listeners have heard of its permit.
                        await().untilAsserted(() -> assertThat(health.check()).containsEntry("held", 1));
                        own.release();
                        await().untilAsserted(() -> assertThat(health.check()).containsEntry("held", 0));
                    });
        });
    }

    @Test
    void aChildContextDoesNotCountWhatTheClientOfItsParentHolds() {
        inMemory.run(parent -> {
            Permit held =
                    parent.getBean(SemaphoreClient.class).semaphore("exports").acquire();
            runner.withParent(parent)
                    .run(child -> assertThat(
                                    child.getBean(SemaphoreHealth.class).check())
                            .containsKey("backend")
                            .doesNotContainKey("held"));
            held.release();
        });
    }

    @Test
    void aChildContextThatIsClosedLeavesNothingAtTheClientOfItsParent() {
        inMemory.run(parent -> {
            AtomicReference<WeakReference<Object>> ofChild = new AtomicReference<>();
            runner.withParent(parent)
                    .run(child -> ofChild.set(new WeakReference<>(child.getBean("semaphoreActivity"))));
            await().until(() -> {
                System.gc();
                return ofChild.get().get() == null;
            });
            assertThat(parent.getBean(SemaphoreClient.class)).isNotNull();
        });
    }

    /** Spring Boot's pattern for a bean of one's own beside the one that it configures. */
    @Test
    void aClientThatIsNoDefaultCandidateIsShutDownToo() {
        inMemory.withBean(
                        "second",
                        SemaphoreClient.class,
                        () -> SemaphoreClient.connect(backend),
                        second -> ((AbstractBeanDefinition) second).setDefaultCandidate(false))
                .run(context -> {
                    SemaphoreClient second = context.getBean("second", SemaphoreClient.class);
                    assertThat(context).getBeans(SemaphoreClient.class).hasSize(2);
                    context.getBean("semaphoreStopsAcquiring", Lifecycle.class).stop();
                    assertThatThrownBy(() -> second.semaphore("exports").tryAcquire())
                            .isInstanceOf(SemaphoreClosedException.class);
                    context.getBean("semaphoreCloses", Lifecycle.class).stop();
                    assertThatThrownBy(() -> second.admin().status("exports"))
                            .isInstanceOf(SemaphoreClosedException.class);
                });
    }

    @Test
    void theShutdownMakesNoClientThatNobodyUsed() {
        AtomicBoolean made = new AtomicBoolean();
        Supplier<SemaphoreClient> lazy = () -> {
            made.set(true);
            return SemaphoreClient.connect(backend);
        };
        inMemory.withBean("second", SemaphoreClient.class, lazy, second -> {
                    second.setLazyInit(true);
                    ((AbstractBeanDefinition) second).setDefaultCandidate(false);
                })
                .run(context -> assertThat(context).hasNotFailed());
        assertThat(made).isFalse();
    }

    @Test
    void theEndpointListsWhatItsOwnClientUses() {
        runner.withBean(
                        "main",
                        SemaphoreClient.class,
                        () -> SemaphoreClient.connect(backend),
                        main -> main.setPrimary(true))
                .withBean("other", SemaphoreClient.class, () -> SemaphoreClient.connect("memory:" + UUID.randomUUID()))
                .run(context -> {
                    use(context.getBean("main", SemaphoreClient.class), "exports");
                    use(context.getBean("other", SemaphoreClient.class), "archive");
                    SemaphoresEndpoint endpoint = context.getBean(SemaphoresEndpoint.class);
                    await().untilAsserted(
                                    () -> assertThat(endpoint.semaphores()).containsOnlyKeys("exports"));
                });
    }

    @Test
    void theHealthCountsWhatItsOwnClientHolds() {
        inMemory.withBean(
                        "other",
                        SemaphoreClient.class,
                        () -> SemaphoreClient.connect(backend),
                        other -> ((AbstractBeanDefinition) other).setDefaultCandidate(false))
                .run(context -> {
                    SemaphoreClient other = context.getBean("other", SemaphoreClient.class);
                    CountDownLatch heard = new CountDownLatch(1);
                    // The listener of the context was there before, and has heard of a grant before this one.
                    other.addListener(new SemaphoreListener() {
                        @Override
                        public void onAcquired(String semaphore, int slot, long waitedNanos, boolean handedOff) {
                            heard.countDown();
                        }
                    });
                    Permit ofOther = other.semaphore("exports").acquire();
                    assertThat(heard.await(30, TimeUnit.SECONDS)).isTrue();
                    SemaphoreHealth health = context.getBean(SemaphoreHealth.class);
                    assertThat(health.check()).containsEntry("held", 0);
                    Permit own = context.getBean(SemaphoreClient.class)
                            .semaphore("exports")
                            .acquire();
                    await().untilAsserted(() -> assertThat(health.check()).containsEntry("held", 1));
                    own.release();
                    ofOther.release();
                });
    }

    private static void use(SemaphoreClient client, String name) throws InterruptedException {
        client.admin().create(name, 1);
        client.semaphore(name).acquire().release();
    }
}
