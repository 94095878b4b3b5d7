package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.tck.fixture.Conservation;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.Watched;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Rules of sections 7, 12 and 13 about a backend that stops and starts again, with its data and without. */
@Section
public abstract class RestartRules {
    /** The most attempts to connect that one client may make in a second in which the backend is away. */
    private static final int STORM = 100;

    /** Few clients, one of which holds nothing. */
    private static final int FEW = 4;

    /** For subclasses. */
    protected RestartRules() {}

    @Test
    @Rule({"13.7", "7.2"})
    void afterAnOrderlyRestartHoldsAndLimitsAreAsDeclared(TckFixture tck) throws Exception {
        restart(tck, ServerControl::stop);
    }

    @Test
    @Rule({"13.7", "7.2"})
    void afterACrashOfTheBackendHoldsAndLimitsAreAsDeclared(TckFixture tck) throws Exception {
        restart(tck, ServerControl::kill);
    }

    private static SemaphoreClient client(TckFixture tck, ServerControl server) {
        return tck.own(server.connect(ClientSpec.plain(), server.address()));
    }

    /** Ends the server and starts it again, and looks whether that was so. */
    private static void again(ServerControl server, Consumer<ServerControl> end, Runnable meanwhile) {
        String before = server.incarnation();
        end.accept(server);
        if (server.isRunning()) {
            throw new FaultMissedException("the server runs although it was ended");
        }
        meanwhile.run();
        server.start();
        if (server.incarnation().equals(before)) {
            throw new FaultMissedException("the server is the same as before: " + before);
        }
    }

    private static void restart(TckFixture tck, Consumer<ServerControl> end) throws Exception {
        ServerControl server = tck.server();
        String name = tck.uniqueName();
        SemaphoreClient holding = client(tck, server);
        SemaphoreClient waiting = client(tck, server);
        SemaphoreClient idle = client(tck, server);
        holding.admin().create(name, 2);
        Watched other = new Watched(tck, tck.take(idle.semaphore(name), 1).get(0));
        Permit first = other.permit();
        Watched held = new Watched(tck, tck.take(holding.semaphore(name), 1).get(0));
        Attempt<Permit> waiter = Attempt.of(tck, "a waiter of a backend that restarts", () -> waited(waiting, name));
        waiter.awaitBlocked();
        again(
                server,
                end,
                () -> Attempt.of(tck, "tryAcquire", idle.semaphore(name)::tryAcquire)
                        .ended()
                        .failure(name));
        assertState(tck, idle, name);
        assertNobodyIsLetIn(tck, client(tck, server).semaphore(name), held, other);
        boolean kept = assertHold(tck, held);
        Map<Integer, Long> newest = new HashMap<>();
        assertRises(tck, newest, first);
        assertRises(tck, newest, held.permit());
        Permit late = assertWaiter(tck, waiter, first, held.permit());
        if (late != null) {
            assertRises(tck, newest, late);
            late.close();
        }
        held.end();
        other.end();
        if (kept) {
            assertThat(held.losses())
                    .as("losses reported of a permit that was kept")
                    .isEmpty();
        }
        new Observer(tck, idle.semaphore(name)).awaitFree(2, "after a restart all permits can be acquired again");
        Permit next = tck.take(client(tck, server).semaphore(name), 1).get(0);
        assertRises(tck, newest, next);
        next.release();
        for (SemaphoreClient client : List.of(holding, waiting, idle)) {
            Observer.assertWorks(tck, client.semaphore(name));
        }
        assertConserved(tck, client(tck, server).semaphore(name), 2);
    }

    /** Where the semaphore goes with the backend, its waiters learn just that, and end without a permit. */
    private static Permit waited(SemaphoreClient client, String name) throws InterruptedException {
        try {
            return client.semaphore(name).acquire(Duration.ofHours(1));
        } catch (NoSuchSemaphoreException e) {
            if (client.guarantees().has(Capability.DURABLE_STATE)) {
                throw e;
            }
            throw new BackendUnavailableException("gone with the backend: " + e.getMessage(), e);
        }
    }

    /** A client that is let in at once must not have the slot of a permit that says that it is valid, for longer than declared. */
    private static void assertNobodyIsLetIn(TckFixture tck, DistributedSemaphore semaphore, Watched... holders) {
        Optional<Permit> intruder = semaphore.tryAcquire();
        long granted = System.nanoTime();
        if (intruder.isPresent()) {
            Pause.millis(tck.quiet().toMillis());
            for (Watched holder : holders) {
                if (holder.permit().slot() == intruder.get().slot()) {
                    holder.assertNoOverlap(Fault.BACKEND_RESTART, granted);
                }
            }
            intruder.get().release();
        }
    }

    private static void assertConserved(TckFixture tck, DistributedSemaphore semaphore, int limit) {
        Conservation.assertFree(semaphore, limit, tck.patience());
    }

    private static void assertRises(TckFixture tck, Map<Integer, Long> newest, Permit permit) {
        if (tck.has(Capability.DURABLE_FENCING)) {
            long epoch = permit.fence().epoch();
            long before = newest.getOrDefault(permit.slot(), Long.MIN_VALUE);
            assertThat(epoch).as("epoch after a restart").isGreaterThan(before);
            newest.put(permit.slot(), epoch);
        }
    }

    /** Where it is not kept, what follows needs a new one. */
    private static void makeAgainIfGone(TckFixture tck, SemaphoreClient client, String name, int limit) {
        if (!client.guarantees().has(Capability.DURABLE_STATE)) {
            Observer.assertAnswers(tck, client, name);
            client.admin().create(name, limit);
        }
    }

    private static void assertState(TckFixture tck, SemaphoreClient client, String name) {
        Observer.assertAnswers(tck, client, name);
        makeAgainIfGone(tck, client, name, 2);
        assertThat(client.admin().describe(name))
                .as("the semaphore after a restart, where DURABLE_STATE is declared")
                .hasValueSatisfying(
                        description -> assertThat(description.limit()).isEqualTo(2));
    }

    /** A hold is kept, and then no other client has the slot; or it is lost, and then its holder is notified. */
    private static boolean assertHold(TckFixture tck, Watched held) {
        Verification found = Observer.verified(tck, held.permit());
        if (found == Verification.LOST) {
            held.awaitTold(tck.guarantees().lossNoticeBound());
            assertThat(held.permit().isValid()).as("isValid of a lost permit").isFalse();
        }
        return found == Verification.HELD;
    }

    /** Returns what the waiter got; null if it failed. */
    private static @Nullable Permit assertWaiter(TckFixture tck, Attempt<Permit> waiter, Permit... holds) {
        boolean allHeld = true;
        for (Permit hold : holds) {
            allHeld &= Observer.verified(tck, hold) == Verification.HELD;
        }
        if (allHeld && waiter.isDone() && !waiter.failed()) {
            throw new AssertionError("a waiter was let in by the restart although both slots are held");
        }
        for (Permit hold : holds) {
            hold.close();
        }
        waiter.endedWithin(Duration.ofNanos(waiter.nanos()).plus(Observer.settling(tck)));
        return waiter.failed() ? null : waiter.value();
    }

    @Test
    @Rule({"13.7", "12.6"})
    void aRestartWithoutItsDataIsToldToHoldersAndEndsWaiters(TckFixture tck) throws Exception {
        ServerControl server = tck.server();
        String name = tck.uniqueName();
        SemaphoreClient client = client(tck, server);
        SemaphoreClient other = client(tck, server);
        client.admin().create(name, 1);
        Watched held = new Watched(tck, tck.take(client.semaphore(name), 1).get(0));
        again(server, ServerControl::kill, server::wipe);
        Observer.assertAnswers(tck, other, name);
        assertThat(other.admin().describe(name))
                .as("what is left of a semaphore in a backend that lost its data")
                .isEmpty();
        Attempt<Boolean> missing = Attempt.of(tck, "tryAcquire of what is gone", () -> missing(other, name));
        assertThat(missing.ended().value())
                .as("acquiring what is gone fails as NoSuchSemaphoreException")
                .isTrue();
        other.admin().create(name, 1);
        Permit successor = tck.take(other.semaphore(name), 1).get(0);
        long granted = System.nanoTime();
        held.awaitTold(tck.guarantees()
                .lossNoticeBound()
                .plus(tck.guarantees().detectionMax())
                .plus(tck.guarantees().callBound()));
        held.assertNoOverlap(Fault.STATE_REMOVED, granted);
        held.permit().close();
        tck.proveNothing(
                "the release of a permit that went with the data leaves the successor alone",
                () -> successor.verify() == Verification.HELD);
        successor.release();
        assertConserved(tck, other.semaphore(name), 1);
    }

    private static boolean missing(SemaphoreClient client, String name) {
        try {
            client.semaphore(name).tryAcquire().ifPresent(Permit::close);
            return false;
        } catch (NoSuchSemaphoreException e) {
            return true;
        }
    }

    @Test
    @Rule("13.10")
    void afterARestartManyClientsComeBackWithoutAStorm(TckFixture tck) throws Exception {
        // Many that try without a pause share the processors, so that none of them tries often.
        for (int size : IntStream.of(FEW, tck.rounds(30, FEW)).distinct().toArray()) {
            comeBackWithoutAStorm(tck, size);
        }
    }

    private void comeBackWithoutAStorm(TckFixture tck, int size) throws Exception {
        ServerControl server = tck.server();
        Route route = tck.route(server);
        String name = tck.uniqueName();
        client(tck, server).admin().create(name, 3);
        List<DistributedSemaphore> crowd = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            crowd.add(route.client().semaphore(name));
        }
        for (DistributedSemaphore member : crowd) {
            Observer.assertWorks(tck, member);
        }
        List<Permit> held = new ArrayList<>();
        crowd.subList(0, 3).forEach(member -> held.addAll(tck.take(member, 1)));
        for (DistributedSemaphore member : crowd) {
            // One that nobody awaits: what it does when the backend is gone is what is measured.
            Future<?> unused = member.acquireAsync(Duration.ofSeconds(1)).thenAccept(Permit::close);
        }
        again(server, ServerControl::kill, () -> assertNoStorm(tck, route, size));
        makeAgainIfGone(tck, client(tck, server), name, 3);
        for (DistributedSemaphore member : crowd.subList(3, size)) {
            Attempt.of(tck, "availablePermits", () -> comesBack(member))
                    .endedWithin(Observer.settling(tck).multipliedBy(2));
        }
        held.forEach(Permit::close);
        for (DistributedSemaphore member : crowd) {
            Observer.assertWorks(tck, member);
        }
        assertConserved(tck, client(tck, server).semaphore(name), 3);
    }

    private static int comesBack(DistributedSemaphore semaphore) {
        while (true) {
            try {
                return semaphore.availablePermits();
            } catch (BackendUnavailableException | OutcomeUnknownException e) {
                Pause.millis(20);
            }
        }
    }

    private static void assertNoStorm(TckFixture tck, Route route, int clients) {
        long before = route.proxy().attempts();
        long start = System.nanoTime();
        Pause.millis(tck.full() ? 5_000 : 600);
        double seconds = (System.nanoTime() - start) / 1e9;
        double perClient = (route.proxy().attempts() - before) / seconds / clients;
        assertThat(perClient)
                .as("attempts to connect per client and second while the backend is away: a storm")
                .isLessThan(STORM);
    }
}
