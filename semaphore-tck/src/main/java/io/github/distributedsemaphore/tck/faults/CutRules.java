package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Rules of sections 5 and 13 about a link that is cut and comes back: calls and waiters. */
@Section
public abstract class CutRules {
    /** A client whose link is whole again has what it needs after this time. */
    private static final Duration BACK_AFTER_A_CUT = Duration.ofMillis(1_500);

    /** Long enough for some more attempts that fail. */
    private static final int AWAY_MILLIS = 700;

    /** For subclasses. */
    protected CutRules() {}

    @Test
    @Rule({"13.1", "5.2"})
    void outOfReachEachCallEndsAsUnavailableAndAfterwardsTheClientWorks(TckFixture tck) {
        String name = tck.create(4);
        Route route = tck.route();
        // Waits that ride out outages have a rule of their own.
        SemaphoreClient client = route.client(ClientSpec.plain().with("outagePatience", "0s"));
        Permit held = tck.take(client.semaphore(name), 1).get(0);
        client.admin().describe(name);
        boolean listing = tck.has(Capability.LISTING);
        if (listing) {
            client.admin().names();
        }
        LinkFault refusal = route.proxy().cutOff();
        if (listing) {
            // Before all others, which would find out that connections are broken.
            SemaphoreException unused = Attempt.of(
                            tck, "names()", () -> client.admin().names())
                    .ended()
                    .failure("");
        }
        Map<String, Attempt<?>> attempts = new LinkedHashMap<>();
        calls(client, name).forEach((what, call) -> attempts.put(what, Attempt.of(tck, what, call)));
        attempts.forEach((what, attempt) -> attempt.ended().failure(name));
        assertVerifies(tck, held);
        refusal.heal();
        Observer.assertWorks(tck, client.semaphore(name));
        held.close();
        tck.assertFree(name, 4);
    }

    /** No connection is made before it is needed, and the first failure is not the last word. */
    @Test
    @Rule("13.1")
    void aClientThatIsMadeWhileTheBackendIsOutOfReachWorksAfterwards(TckFixture tck) {
        String name = tck.create(2);
        Route route = tck.route();
        LinkFault refusal = route.proxy().refuse();
        SemaphoreClient client = route.client(ClientSpec.plain().with("outagePatience", "0s"));
        DistributedSemaphore semaphore = client.semaphore(name);
        Attempt.of(tck, "tryAcquire() of a new client", semaphore::tryAcquire)
                .ended()
                .failure(name);
        Attempt.of(tck, "describe() of a new client", () -> client.admin().describe(name))
                .ended()
                .failure(name);
        refusal.heal();
        Observer.assertWorks(tck, semaphore);
        assertThat(client.admin().describe(name)).isPresent();
        tck.assertFree(name, 2);
    }

    /** A client that keeps several connections drops them all when one fails. */
    @Test
    @Rule("13.1")
    void afterACutOneCallFailsAtMost(TckFixture tck) {
        String name = tck.create(1);
        Route route = tck.route();
        SemaphoreClient client = route.client();
        Callable<Boolean> look = () -> client.admin().describe(name).isPresent();
        tck.race("look", Collections.nCopies(4, look))
                .forEach(one -> assertThat(one.result()).isTrue());
        route.proxy().cut(Ending.RESET);
        List<Attempt<Boolean>> failed = new ArrayList<>();
        for (int i = 1; i <= 4; i++) {
            Attempt<Boolean> attempt =
                    Attempt.of(tck, "look " + i + " after a cut", look).ended();
            if (attempt.failed()) {
                failed.add(attempt);
            }
        }
        assertThat(failed)
                .as("of four looks one after the other, those that failed after the link was cut once and let through")
                .hasSizeLessThanOrEqualTo(1);
    }

    private static Map<String, Callable<?>> calls(SemaphoreClient client, String name) {
        DistributedSemaphore semaphore = client.semaphore(name);
        Map<String, Callable<?>> calls = new LinkedHashMap<>();
        calls.put("tryAcquire()", semaphore::tryAcquire);
        calls.put("tryAcquire(1 h)", () -> semaphore.tryAcquire(Duration.ofHours(1)));
        calls.put("acquire(2, 1 h)", () -> semaphore.acquire(2, Duration.ofHours(1)));
        calls.put("acquireAsync()", () -> Waiters.joined(semaphore.acquireAsync(Duration.ofHours(1))));
        calls.put("availablePermits()", semaphore::availablePermits);
        calls.put("describe()", () -> client.admin().describe(name));
        calls.put("status()", () -> client.admin().status(name));
        calls.put("awaitReleased(0)", () -> client.admin().awaitReleased(name, Duration.ZERO));
        calls.put("create()", () -> client.admin().create(name, 4));
        calls.put("ensure()", () -> client.admin().ensure(name, 4));
        calls.put("resize()", () -> {
            client.admin().resize(name, 4);
            return true;
        });
        calls.put("destroy()", () -> client.admin().destroy(name));
        return calls;
    }

    /** What the backend cannot say, verify does not either; that the permit is lost may be known here. */
    private static void assertVerifies(TckFixture tck, Permit held) {
        Attempt<Verification> verify = Attempt.of(tck, "verify()", held::verify).ended();
        assertThat(verify.failed() || verify.value() == Verification.LOST)
                .as("verify says that a permit is held although the backend is out of reach")
                .isTrue();
    }

    @Test
    @Rule({"5.2", "13.3"})
    void outOfReachAPermitIsValidForAsLongAsItSaidAndNoLonger(TckFixture tck) {
        String name = tck.create(1);
        Route route = tck.route();
        Permit held = tck.take(route.client().semaphore(name), 1).get(0);
        try (LinkFault loss = route.proxy().lose(Direction.REQUESTS)) {
            tck.await("the client says something to the backend", () -> loss.strikes() > 0 || !held.isValid());
            long start = System.nanoTime();
            while (held.isValid()) {
                long before = System.nanoTime();
                boolean past = held.validUntil().isPast(before);
                assertThat(past && held.isValid() && held.validUntil().isPast(before))
                        .as("a permit says that it is valid after the time that it gave itself")
                        .isFalse();
                if (System.nanoTime() - start
                        > tck.scaled(Observer.settling(tck)).toNanos()) {
                    assertThat(held.validUntil().isNever())
                            .as(
                                    "a permit that can be lost says that it is valid after the time that it gave itself, without end")
                            .isTrue();
                    break;
                }
                Pause.millis(1);
            }
            assertVerifies(tck, held);
        }
        held.close();
        tck.assertFree(name, 1);
    }

    @Test
    @Rule({"13.2", "1.8"})
    void aWaiterWhoseLinkIsCutIsServedOrFailsAndLeavesNothing(TckFixture tck) throws Exception {
        for (Ending ending : new Ending[] {Ending.RESET, Ending.FINISH}) {
            String name = tck.create(1);
            Route route = tck.route();
            DistributedSemaphore semaphore = route.client().semaphore(name);
            Permit held = tck.take(tck.home().semaphore(name), 1).get(0);
            Task<Permit> waiter = waiting(tck, semaphore);
            // A thread that waits may have left its request to another one, which has yet to connect.
            tck.await(
                    "the client of a waiter has a connection",
                    () -> route.proxy().openConnections() > 0);
            route.proxy().cut(ending);
            // Once with the wait taken up again, if it is, and once with the slot free before anybody can.
            if (ending == Ending.RESET) {
                Pause.millis(tck.quiet().toMillis());
            }
            held.release();
            Duration bound = Observer.settling(tck).plus(tck.guarantees().wakeUpBound());
            tck.await("a waiter whose link was cut and healed is served or fails, it hangs", bound, waiter::isDone);
            Permit late = outcome(waiter);
            if (late != null) {
                assertThat(Observer.verified(tck, late)).isEqualTo(Verification.HELD);
                late.release();
            }
            new Observer(tck, tck.home().semaphore(name))
                    .awaitFree(1, "a waiter whose link was cut leaves no grant behind");
            tck.assertFree(name, 1);
            Observer.assertWorks(tck, semaphore);
        }
    }

    @Test
    @Rule({"2.1", "13.2"})
    void afterACutReleasesReachTheWaiterAgain(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client(Waiters.hinted(tck)).semaphore(name);
        DistributedSemaphore other = tck.client(Waiters.hinted(tck)).semaphore(name);
        for (Ending ending : new Ending[] {Ending.RESET, Ending.FINISH}) {
            Permit held = tck.take(other, 1).get(0);
            Task<Permit> waiter = waiting(tck, semaphore);
            Pause.millis(tck.quiet().toMillis());
            route.proxy().cut(ending);
            Pause.millis(tck.scaled(BACK_AFTER_A_CUT).toMillis());
            assertThat(waiter.isDone())
                    .as("a waiter whose link was cut ended: %s", waiter)
                    .isFalse();
            long since = System.nanoTime();
            held.release();
            Waiters.served(tck, waiter, since, "a release did not reach a waiter whose link was cut and is whole again")
                    .release();
        }
    }

    /** What is told before a client listens again has to be found when it does: during the cut, and up to a moment after it. */
    @Test
    @Rule({"2.1", "13.2"})
    void aReleaseThatNobodyListensToReachesTheWaiterAfterACut(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client(Waiters.hinted(tck)).semaphore(name);
        DistributedSemaphore other = tck.client(Waiters.hinted(tck)).semaphore(name);
        for (int afterMillis = -70; afterMillis <= 210; afterMillis += 70) {
            int shortly = tck.random().nextInt((int) tck.quiet().toMillis());
            assertReachedAboutTheEnd(tck, route, semaphore, other, shortly, afterMillis);
        }
        for (int afterMillis : List.of(70, 700)) {
            assertReachedAboutTheEnd(tck, route, semaphore, other, AWAY_MILLIS, afterMillis);
        }
        tck.assertFree(name, 1);
    }

    private static void assertReachedAboutTheEnd(
            TckFixture tck,
            Route route,
            DistributedSemaphore semaphore,
            DistributedSemaphore other,
            int awayMillis,
            int afterMillis) {
        Permit held = tck.take(other, 1).get(0);
        Task<Permit> waiter = waiting(tck, semaphore);
        Pause.millis(tck.quiet().toMillis());
        LinkFault refusal = route.proxy().cutOff();
        if (afterMillis < 0) {
            held.release();
        }
        Pause.millis(awayMillis);
        refusal.heal();
        if (afterMillis >= 0) {
            Pause.millis(afterMillis);
            held.release();
        }
        tck.await(
                "a release " + afterMillis + " ms after the end of " + awayMillis
                        + " ms without a link reaches the waiter",
                BACK_AFTER_A_CUT.plus(tck.guarantees().wakeUpBound()),
                waiter::isDone);
        waiter.result().release();
    }

    /** Where the holders themselves say who they are, they have to be heard again after one of their connections has ended. */
    @Test
    @Rule({"9.1", "13.2"})
    void aHolderThatOutlivesACutIsStillNamed(TckFixture tck) {
        String name = tck.create(1);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        Observer observer = new Observer(tck, tck.home().semaphore(name));
        for (int answer = 1; answer <= 4; answer++) {
            Permit held = tck.take(semaphore, 1).get(0);
            LinkFault cut = route.proxy().loseAnswer(answer, Ending.RESET);
            Attempt.of(tck, "verify", held::verify).ended();
            if (cut.heal() == 0 && answer == 1) {
                throw new FaultMissedException("verify had no answer that could be lost");
            }
            Pause.millis(AWAY_MILLIS);
            tck.await(
                    "a holder of which one connection was cut has lost its permit, or a description says which process it is",
                    Observer.settling(tck),
                    () -> !held.isValid() || isNamed(tck, name));
            held.close();
            observer.awaitFree(1, "after a cut of one connection");
        }
    }

    private static boolean isNamed(TckFixture tck, String name) {
        return tck.home().admin().describe(name).orElseThrow().holders().stream()
                .anyMatch(holder -> holder.pid() == ProcessHandle.current().pid());
    }

    private static Task<Permit> waiting(TckFixture tck, DistributedSemaphore semaphore) {
        Task<Permit> waiter = tck.spawn("waiter behind a cut", () -> semaphore.acquire(Duration.ofHours(1)));
        waiter.awaitBlocked();
        return waiter;
    }

    private static @Nullable Permit outcome(Task<Permit> waiter) {
        try {
            return waiter.result();
        } catch (AssertionError e) {
            assertThat(e.getCause())
                    .as("how a waiter ends whose link was cut")
                    .isInstanceOfAny(BackendUnavailableException.class, OutcomeUnknownException.class);
            return null;
        }
    }

    @Test
    @Rule({"3.13", "13.2"})
    void aWaiterHasItsPatienceForEachOutageAnew(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit held = tck.take(tck.home().semaphore(name), 1).get(0);
        Duration patience = Duration.ofSeconds(4);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client(
                        ClientSpec.plain().with("outagePatience", "4s").with("recheck", "50ms"))
                .semaphore(name);
        CompletableFuture<Permit> waiter = semaphore.acquireAsync();
        tck.proveNothing("the waiter waits", () -> !waiter.isDone());
        for (int outage = 1; outage <= 2; outage++) {
            // The second begins when the patience would be over if it counted from the first.
            Duration after = outage == 1 ? patience : tck.quiet();
            LinkFault refusal = route.proxy().cutOff();
            Pause.millis(patience.dividedBy(4).toMillis());
            refusal.heal();
            tck.proveNothing(
                    "a waiter rides out outage " + outage + ", which is shorter than its patience",
                    after,
                    () -> !waiter.isDone());
        }
        held.release();
        tck.await("a waiter is served after two outages", waiter::isDone);
        waiter.join().release();
        tck.assertFree(name, 1);
    }
}
