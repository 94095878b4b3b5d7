package io.github.distributedsemaphore.tck.broken;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.memory.ServerSession;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.GuaranteesBuilder;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.LinkedMemoryHarness;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.faults.OutageRules;
import io.github.distributedsemaphore.tck.faults.RestartRules;
import io.github.distributedsemaphore.tck.faults.TrafficRules;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.rules.CrowdRules;
import io.github.distributedsemaphore.tck.rules.InputRules;
import io.github.distributedsemaphore.tck.rules.InspectionRules;
import io.github.distributedsemaphore.tck.session.SessionTck;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Events;

/** A backend that can less, and says so, breaks no rule by it. */
class LesserBackendsTest {
    private static final Duration LEASE = Duration.ofSeconds(2);

    private static Events run(Supplier<SemaphoreTckHarness> harness, Class<?> section, String... tests) {
        Sections.HARNESS.set(harness);
        Class<?> runnable = Sections.runnable(section);
        return run(Arrays.stream(tests)
                .map(test -> selectMethod(runnable, test, TckFixture.class))
                .toList());
    }

    private static Events run(List<? extends DiscoverySelector> tests) {
        return run(tests, "20s");
    }

    private static Events run(List<? extends DiscoverySelector> tests, String patience) {
        return EngineTestKit.engine("junit-jupiter")
                .configurationParameter("tck.report", "false")
                .configurationParameter("tck.patience", patience)
                .configurationParameter("junit.jupiter.execution.timeout.default", "60 s")
                .selectors(tests.toArray(DiscoverySelector[]::new))
                .execute()
                .testEvents();
    }

    private static void assertNoneFails(Events tests, int leastThatPass) {
        assertThat(tests.failed().stream()
                        .map(event -> event.getRequiredPayload(TestExecutionResult.class)
                                .getThrowable()))
                .isEmpty();
        assertThat(tests.succeeded().count()).isGreaterThanOrEqualTo(leastThatPass);
    }

    private static final class Picky extends ProbedServer {
        Picky() {
            super(LEASE, MemoryServer.ALL);
        }

        private static void requireAllowed(String name) {
            if (name.indexOf(0) >= 0 || name.endsWith("/below")) {
                throw new IllegalArgumentException("the name has a character that may not be stored");
            }
        }

        @Override
        protected boolean create(String name, int limit) {
            requireAllowed(name);
            return super.create(name, limit);
        }

        @Override
        protected boolean destroy(String name) {
            requireAllowed(name);
            return super.destroy(name);
        }
    }

    @Test
    void namesThatAreRefusedAreNoFailure() {
        assertNoneFails(
                run(
                        Variants.served(Picky::new),
                        InputRules.class,
                        "hostileNamesAreNamesOfTheirOwn",
                        "generatedNamesAreNamesOfTheirOwnAndListedAsTheyAre"),
                2);
    }

    @Test
    void aNameBelowAnotherMayBeRefused() {
        assertNoneFails(
                run(Variants.served(Picky::new), CrowdRules.class, "clientsThatWaitAtANameBelowHoldUpNobody"), 1);
    }

    private static LinkedMemoryHarness bare() {
        return new LinkedMemoryHarness(Set.of());
    }

    @Test
    void whereNothingIsDeclaredWhatACrashTakesStaysTaken() {
        assertNoneFails(run(LesserBackendsTest::bare, OutageRules.class, "anAbortWaitsForNobodyAndNobodyWaitsOn"), 1);
    }

    @Test
    void whereNothingIsDeclaredConnectionsEndAndPermitsStay() {
        Events tests = run(
                LesserBackendsTest::bare,
                TrafficRules.class,
                "theConnectionsOfAClientEndWithIt",
                "whatIsTakenAfterALongCutIsRenewed");
        assertNoneFails(tests, 1);
        assertThat(tests.aborted().count()).isEqualTo(1);
    }

    static class BareSession extends SessionTck {
        private final MemoryServer server = new ProbedServer(LEASE, Set.of());

        @Override
        protected SemaphoreBackend open(HolderInfo self) {
            return new MemoryBackend(server, self);
        }
    }

    @Test
    void aSessionThatIsDroppedLeavesNothingWhereThatIsDeclared() {
        assertNoneFails(run(List.of(selectClass(BareSession.class))), 10);
    }

    static class SlowSession extends SessionTck {
        private final MemoryServer server = new ProbedServer(LEASE, MemoryServer.ALL);

        @Override
        protected SemaphoreBackend open(HolderInfo self) {
            return new MemoryBackend(server, self) {
                @Override
                public Guarantees guarantees() {
                    return GuaranteesBuilder.from(super.guarantees())
                            .detection(LEASE, Duration.ofMinutes(5))
                            .build();
                }
            };
        }
    }

    @Test
    void aDetectionTimeThatNoTestCanWaitForIsNotWaitedFor() {
        Events tests = run(List.of(selectClass(SlowSession.class)));
        assertNoneFails(tests, 10);
        assertThat(tests.aborted().count()).isEqualTo(3);
    }

    /** Its data are gone when it starts again. */
    private static class Forgetting extends ProbedServer {
        Forgetting() {
            super(LEASE, MemoryServer.ALL);
        }

        @Override
        protected void restarted() {
            names().forEach(this::wipe);
        }
    }

    /** Answers administrators when a waiter has learnt that its semaphore is gone, so that none of them makes it anew before. */
    private static final class WaitersFirst extends Forgetting {
        private volatile boolean starting;

        @Override
        protected void restarted() {
            super.restarted();
            starting = true;
        }

        @Override
        protected Optional<SemaphoreDescription> describe(String name) {
            if (starting) {
                throw new BackendUnavailableException("'" + name + "': the server is starting", null);
            }
            return super.describe(name);
        }

        @Override
        protected ExchangeResult exchange(ServerSession session, long sequence, ExchangeRequest request) {
            ExchangeResult result = super.exchange(session, sequence, request);
            if (result.answers().contains(Answer.MISSING)) {
                starting = false;
            }
            return result;
        }
    }

    private static Supplier<SemaphoreTckHarness> restarting(Supplier<ProbedServer> server) {
        return () -> new LinkedMemoryHarness(MemoryServer.ALL) {
            @Override
            protected ProbedServer newServer() {
                return server.get();
            }

            @Override
            protected SemaphoreClient client(SemaphoreClient client) {
                return Bent.around(SemaphoreClient.class, client, LesserBackendsTest::declaringThatARestartRemovesAll);
            }
        };
    }

    private static @Nullable Object declaringThatARestartRemovesAll(Bent.Call call) throws Throwable {
        Object right = call.proceed();
        return right instanceof Guarantees guarantees
                ? GuaranteesBuilder.from(guarantees)
                        .exposure(Fault.BACKEND_RESTART, guarantees.exposure(Fault.STATE_REMOVED))
                        .build()
                : right;
    }

    @Test
    void aSemaphoreThatGoesWithTheBackendEndsItsWaiters() {
        assertNoneFails(
                run(
                        restarting(WaitersFirst::new),
                        RestartRules.class,
                        "afterAnOrderlyRestartHoldsAndLimitsAreAsDeclared",
                        "afterACrashOfTheBackendHoldsAndLimitsAreAsDeclared"),
                2);
    }

    @Test
    void clientsComeBackToASemaphoreThatIsMadeAnew() {
        assertNoneFails(
                run(restarting(Forgetting::new), RestartRules.class, "afterARestartManyClientsComeBackWithoutAStorm"),
                1);
    }

    /** Two seconds, which is longer than the patience of this run. */
    @Test
    void aRenewalIsAwaitedForAsLongAsItMayTake() {
        Sections.HARNESS.set(Variants.served(() -> new ProbedServer(LEASE.multipliedBy(3), MemoryServer.ALL)));
        DiscoverySelector test = selectMethod(
                Sections.runnable(InspectionRules.class), "whenAHolderTookItsSlotStaysWhatItWas", TckFixture.class);
        assertNoneFails(run(List.of(test), "500ms"), 1);
    }
}
