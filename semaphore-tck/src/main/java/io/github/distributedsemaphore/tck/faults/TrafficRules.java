package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.run.TckTiming;
import io.github.distributedsemaphore.tck.watch.LongHolds;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Rules of section 16 about a client's link: which connections there are, and how much they carry. */
@Section
public abstract class TrafficRules {
    private static final Duration LONGEST_WINDOW = Duration.ofSeconds(5);
    private static final int GRANTS = 20;
    private static final int RESIZES = 20;

    /** For subclasses. */
    protected TrafficRules() {}

    @Test
    @Rule({"16.1", "2.3"})
    void theConnectionsOfAClientEndWithIt(TckFixture tck) {
        String name = tck.create(1);
        for (boolean inOrder : new boolean[] {true, false}) {
            Route route = tck.route();
            SemaphoreClient client = route.client();
            tck.take(client.semaphore(name), 1);
            CompletableFuture<Permit> waiter = client.semaphore(name).acquireAsync();
            tck.proveNothing("the waiter waits", () -> !waiter.isDone());
            assertThat(route.proxy().openConnections())
                    .as("connections of a client that holds and waits")
                    .isPositive();
            if (inOrder) {
                client.close();
            } else {
                client.abort();
            }
            tck.await(
                    "the connections of a client that was " + (inOrder ? "closed" : "aborted") + " end",
                    () -> route.proxy().openConnections() == 0);
        }
        // The last one was aborted, which elsewhere takes its slot for good.
        if (tck.has(Capability.CRASH_RELEASE)) {
            new Observer(tck, tck.home().semaphore(name)).awaitFree(1, "the permits of both clients are free");
        }
    }

    /** A protocol may have heartbeats, so a client that never held anything shows how much a connection says. */
    @Test
    @Rule("16.6")
    void aClientThatHoldsNothingAndWaitsForNothingFallsSilent(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Route quiet = tck.route();
        assertThat(quiet.client().admin().status(name)).isPresent();
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        Duration window = window(tck);
        Permit held = semaphore.acquire(tck.patience());
        Pause.millis(window.toMillis());
        held.release();
        // A held slot that was waited for is watched for a little longer.
        Permit other = tck.take(tck.home().semaphore(name), 1).get(0);
        assertThat(semaphore.tryAcquire(tck.quiet())).isEmpty();
        other.release();
        Pause.millis(window.toMillis());
        long idleBefore = said(route);
        long quietBefore = said(quiet);
        long heardBefore = heard(route);
        long signsHeardBefore = heard(quiet);
        for (int i = 0; i < RESIZES; i++) {
            // Who waits is told of it.
            tck.home().admin().resize(name, 1 + i % 2);
            Pause.millis(window.dividedBy(RESIZES).toMillis());
        }
        long idle = said(route) - idleBefore;
        long signs = said(quiet) - quietBefore;
        // Signs come in equal intervals, so one window may hold one more than another of the same length.
        // A connection without signs gets no such allowance: it would hide the renewals.
        long perConnection = signs == 0 ? 1 : (long) Math.ceil((double) signs / connections(quiet)) + 1;
        assertThat(idle)
                .as(
                        "messages of a client that holds nothing, in %s and the time of %d resizes, on %d connections; one that never held anything sends %d on %d",
                        window, RESIZES, connections(route), signs, connections(quiet))
                .isLessThanOrEqualTo(perConnection * connections(route));
        if (heard(quiet) == signsHeardBefore) {
            // Where a server sends signs too, it may also tell all clients of a change.
            assertThat(heard(route) - heardBefore)
                    .as("messages to a client that waits for nothing, while the limit changed %d times", RESIZES)
                    .isLessThan(RESIZES / 2);
        }
    }

    private static long heard(Route route) {
        return route.proxy().messages(Direction.ANSWERS);
    }

    private static long said(Route route) {
        return route.proxy().messages(Direction.REQUESTS);
    }

    private static int connections(Route route) {
        return Math.max(1, route.proxy().openConnections());
    }

    /** Long enough for several renewals. */
    private static Duration window(TckFixture tck) {
        return TckTiming.shorter(tck.scaled(tck.guarantees().detectionMax()), LONGEST_WINDOW);
    }

    @Test
    @Rule("16.5")
    void reconnectingMultipliesNothing(TckFixture tck) throws Exception {
        String name = tck.create(2);
        Route route = tck.route();
        SemaphoreClient client = route.client();
        DistributedSemaphore semaphore = client.semaphore(name);
        Duration window = tck.quiet().multipliedBy(2);
        inUse(tck, route, semaphore, window);
        int connections = route.proxy().openConnections();
        long bytes = inUse(tck, route, semaphore, window);
        Passed passed = handedOver(tck, route, semaphore);
        int most = connections + 1;
        int cut = 0;
        int rounds = tck.rounds(30, 8);
        for (int i = 0; i < rounds; i++) {
            // A client may have ended its idle connections itself.
            cut += route.proxy().cutAny(i % 2 == 0 ? Ending.RESET : Ending.FINISH);
            Observer.assertWorks(tck, semaphore);
        }
        if (cut < rounds / 2) {
            throw new FaultMissedException("in " + rounds + " rounds there were " + cut + " connections to cut");
        }
        tck.await(
                "reconnecting leaves connections behind: there were " + connections,
                () -> route.proxy().openConnections() <= most);
        long mostBytes = 3 * bytes + 3_000;
        long afterwards = inUse(tck, route, semaphore, window);
        for (int more = 0; more < 3 && afterwards >= mostBytes; more++) {
            // On a busy machine the last connections are still being made in the first window.
            afterwards = inUse(tck, route, semaphore, window);
        }
        assertThat(afterwards)
                .as("bytes sent by one holder and one waiter in %s, before the reconnections it was %d", window, bytes)
                .isLessThan(mostBytes);
        assertThat(route.proxy().openConnections())
                .as("connections of one client that came back often; before it was %d", connections)
                .isLessThanOrEqualTo(most);
        assertHandsOverWithNoMore(tck, route, semaphore, passed);
        assertRenewsNoMoreThanOthers(tck, route, client);
    }

    /** A client whose session ended under a hold has to begin its renewals again. */
    @Test
    @Rule({"6.1", "2.11"})
    void whatIsTakenAfterALongCutIsRenewed(TckFixture tck) throws Exception {
        String name = tck.create(2);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        Permit lost = semaphore.acquire(tck.patience());
        if (!tck.has(Capability.LEASE) || lost.validUntil().isNever()) {
            throw new TestAbortedException("the permits of this backend are valid until they are released");
        }
        Duration validity = tck.validity(lost.validUntil());
        Duration time = validity.plus(validity.dividedBy(5));
        LongHolds.assumeTimeFor(tck, time);
        LinkFault refusal = route.proxy().cutOff();
        tck.await("a holder that was cut off has lost its permit", Observer.settling(tck), () -> !lost.isValid());
        // Until a renewal was due that found nothing to renew, and more.
        Pause.millis(validity.dividedBy(2).toMillis());
        refusal.heal();
        Permit held = semaphore.acquire(tck.patience());
        tck.proveHeld("a permit that was taken after a long cut is renewed", time, validity, held::isValid);
        assertThat(held.verify()).isEqualTo(Verification.HELD);
        held.close();
        lost.close();
        tck.assertFree(name, 2);
    }

    /** The bytes that passed each way. */
    private record Passed(long requests, long answers) {
        static Passed soFar(Route route) {
            return new Passed(
                    route.proxy().bytes(Direction.REQUESTS), route.proxy().bytes(Direction.ANSWERS));
        }

        Passed since(Passed before) {
            return new Passed(requests - before.requests, answers - before.answers);
        }

        /** A busy machine makes more of one and the same, but not several times as much. */
        boolean isMoreThan(Passed before) {
            return requests > 2 * before.requests + 2_000 || answers > 2 * before.answers + 2_000;
        }
    }

    /** What is subscribed, consumed or listened to twice shows when a hint comes. */
    private static void assertHandsOverWithNoMore(
            TckFixture tck, Route route, DistributedSemaphore semaphore, Passed before) throws Exception {
        Passed passed = handedOver(tck, route, semaphore);
        for (int more = 0; more < 3 && passed.isMoreThan(before); more++) {
            passed = handedOver(tck, route, semaphore);
        }
        assertThat(passed.isMoreThan(before))
                .as(
                        "far more bytes passed while permits were handed over: %s, before the reconnections it was %s",
                        passed, before)
                .isFalse();
    }

    /** Hands a permit to a waiter behind the route again and again. */
    private static Passed handedOver(TckFixture tck, Route route, DistributedSemaphore semaphore) throws Exception {
        DistributedSemaphore other = tck.home().semaphore(semaphore.name());
        List<Permit> held = new ArrayList<>(tck.take(other, 2));
        Passed before = Passed.soFar(route);
        for (int i = 0; i < GRANTS; i++) {
            Task<Permit> waiter = Waiters.blocked(tck, "waiter", semaphore);
            held.remove(0).release();
            waiter.result().release();
            held.add(other.acquire(tck.patience()));
        }
        Passed passed = Passed.soFar(route).since(before);
        held.forEach(Permit::release);
        return passed;
    }

    /** Renewals go by what is held, and not by how often something was granted: a client that has done nothing else shows it. */
    private static void assertRenewsNoMoreThanOthers(TckFixture tck, Route route, SemaphoreClient client) {
        String name = tck.create(3);
        DistributedSemaphore semaphore = client.semaphore(name);
        Permit kept = tck.take(semaphore, 1).get(0);
        for (int i = 0; i < GRANTS; i++) {
            tck.take(semaphore, 1).get(0).release();
        }
        Route fresh = tck.route();
        Permit other = tck.take(fresh.client().semaphore(name), 1).get(0);
        Duration window = window(tck);
        Pause.millis(tck.quiet().toMillis());
        long before = said(route);
        long freshBefore = said(fresh);
        Pause.millis(window.toMillis());
        long said = said(route) - before;
        long freshSaid = said(fresh) - freshBefore;
        long share = freshSaid * connections(route) / connections(fresh);
        assertThat(said)
                .as(
                        "messages in %s of a client that holds one permit, after %d other grants, on %d connections; a new one sends %d on %d",
                        window, GRANTS, connections(route), freshSaid, connections(fresh))
                .isLessThanOrEqualTo(share + Math.max(2, share / 2));
        kept.release();
        other.release();
    }

    /** One holder and one waiter for a while; how much they had to say. */
    private static long inUse(TckFixture tck, Route route, DistributedSemaphore semaphore, Duration window)
            throws Exception {
        Permit first = tck.take(semaphore, 1).get(0);
        Permit second = tck.take(semaphore, 1).get(0);
        Task<Permit> waiter = tck.spawn("waiter", () -> semaphore.acquire(Duration.ofHours(1)));
        waiter.awaitBlocked();
        long before = route.proxy().bytes(Direction.REQUESTS);
        Pause.millis(window.toMillis());
        long said = route.proxy().bytes(Direction.REQUESTS) - before;
        first.release();
        waiter.result().release();
        second.release();
        return said;
    }
}
