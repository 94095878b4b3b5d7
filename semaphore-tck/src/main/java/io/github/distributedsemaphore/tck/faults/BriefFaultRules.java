package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.LongHolds;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.Waiters;
import io.github.distributedsemaphore.tck.watch.Watched;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Section 13: a holder whose link fails for less than its lease keeps its slot. */
@Section
public abstract class BriefFaultRules {
    /** Within which a client that lost a connection has asked again. */
    private static final Duration RECOVERY = Duration.ofMillis(1_500);

    private static final Duration ARRIVAL = Duration.ofMillis(100);

    /** A client that comes late to its turn may rightly be passed. */
    private static final int TRIES = 4;

    /** What delays a client for so long may cost it its turn. */
    private static final Duration STOOD_STILL = Duration.ofMillis(20);

    /** For subclasses. */
    protected BriefFaultRules() {}

    @Test
    @Rule({"13.3", "6.6"})
    void aShortCutLosesNothingOrIsTold(TckFixture tck) {
        String name = tck.create(1);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        DistributedSemaphore others = tck.home().semaphore(name);
        Watched held = new Watched(tck, tck.take(semaphore, 1).get(0));
        boolean outlives = outlivesCuts(tck);
        for (int i = 0; i < 3; i++) {
            // That the connections are cut is the proof; whether the client tries to make new ones is its own business.
            LinkFault refusal = route.proxy().refuse();
            route.proxy().cut(i == 1 ? Ending.FINISH : Ending.RESET);
            long since = System.nanoTime();
            Attempt<Verification> verify = Attempt.of(tck, "verify()", held.permit()::verify);
            Duration left = left(tck, held.permit());
            // Renewals fall into the last cut, and have to go on after it.
            Pause.millis(left.dividedBy(i == 2 ? 3 : 6).toMillis());
            if (outlives) {
                Optional<Permit> other = others.tryAcquire();
                if (other.isPresent()) {
                    tck.abortIfStoodStill(left.dividedBy(4), since);
                }
                assertThat(other)
                        .as("the slot of a holder that was cut off for a moment")
                        .isEmpty();
            }
            verify.ended();
            refusal.heal();
            Verification found = Observer.verified(tck, held.permit());
            if (outlives) {
                if (found != Verification.HELD) {
                    tck.abortIfStoodStill(left.dividedBy(4), since);
                }
                assertThat(found)
                        .as("a permit whose holder was cut off for a moment")
                        .isEqualTo(Verification.HELD);
                assertThat(held.permit().isValid())
                        .as("isValid after a cut that was shorter than the lease")
                        .isTrue();
            } else if (found == Verification.LOST) {
                held.awaitTold(tck.guarantees().lossNoticeBound());
                assertThat(held.losses()).as("losses reported of one permit").hasSize(1);
                assertThat(held.permit().isValid()).as("isValid after the loss").isFalse();
                break;
            }
        }
        if (outlives && LongHolds.hasTimeForALease(tck)) {
            assertKept(tck, held, others, "when a link that was cut for a moment is whole again");
        }
        if (outlives) {
            assertThat(held.losses()).as("losses reported").isEmpty();
        }
        held.end();
        held.permit().close();
        tck.assertFree(name, 1);
    }

    /** Whether a hold is tied to time alone. One that is tied to a connection too ends with it, at both ends when each hears of it. */
    private static boolean outlivesCuts(TckFixture tck) {
        return tck.has(Capability.LEASE)
                && !tck.guarantees().exposure(Fault.LINK_CUT).allowsOverlap();
    }

    /** How long a permit is valid if nothing is heard of the backend; some moments where it has no end. */
    private static Duration left(TckFixture tck, Permit permit) {
        return permit.validUntil().isNever()
                ? tck.quiet().multipliedBy(6)
                : permit.validUntil().remaining();
    }

    /** Shows that a permit stays held for a whole lease, unless the machine stands still for a good part of one. */
    private static void assertKept(TckFixture tck, Watched held, DistributedSemaphore others, String when) {
        Duration lease = tck.guarantees().detectionMax();
        long since = System.nanoTime();
        boolean kept = true;
        while (kept && !tck.isOver(lease.plus(tck.quiet()), since)) {
            kept = held.permit().isValid() && others.tryAcquire().isEmpty();
            Pause.millis(5);
        }
        if (!kept) {
            tck.abortIfStoodStill(lease.dividedBy(4), since);
        }
        assertThat(kept)
                .as("a permit stays valid, and its slot taken, for as long as a lease %s", when)
                .isTrue();
        assertThat(Observer.verified(tck, held.permit()))
                .as("a permit %s", when)
                .isEqualTo(Verification.HELD);
    }

    /** Renewals fail meanwhile, and that costs nothing but time. */
    @Test
    @Rule({"13.3", "6.6"})
    void aSilenceThatIsShorterThanTheValidityLosesNothing(TckFixture tck) {
        Route route = tck.route();
        String name = tck.create(1);
        Watched held =
                new Watched(tck, tck.take(route.client().semaphore(name), 1).get(0));
        Duration validity = tck.validity(held.permit().validUntil());
        if (validity.isZero()) {
            throw new TestAbortedException("permits are valid without end");
        }
        LongHolds.assumeTimeFor(tck, validity);
        long since = System.nanoTime();
        try (LinkFault stall = route.proxy().stall()) {
            tck.await("a renewal meets the silence", () -> stall.strikes() > 0);
            Duration left = validity.dividedBy(4);
            tck.await(
                    "the end of a validity comes near when no renewal gets through",
                    validity,
                    () -> held.permit().validUntil().remaining().compareTo(left) <= 0);
        }
        Verification found = Observer.verified(tck, held.permit());
        if (found != Verification.HELD) {
            tck.abortIfStoodStill(validity.dividedBy(4), since);
        }
        assertThat(found)
                .as("a permit after a silence at the end of which it was still valid")
                .isEqualTo(Verification.HELD);
        assertKept(tck, held, tck.home().semaphore(name), "after a silence that was shorter than its validity");
        assertThat(held.losses()).as("losses reported").isEmpty();
        held.end();
        held.permit().close();
        tck.assertFree(name, 1);
    }

    /** Whichever of its requests fails, a client that waits comes to its place in the end. */
    @Test
    @Rule({"11.4", "13.2"})
    void aClientThatLosesAnAnswerWhenItBeginsToWaitHasItsPlaceToo(TckFixture tck) {
        if (!tck.has(Capability.ARRIVAL_ORDER)) {
            throw new TestAbortedException("no order between clients is declared");
        }
        Route route = tck.route();
        List<SemaphoreClient> clients = List.of(route.client(), tck.client(), tck.client());
        SemaphoreClient holder = tck.client(Waiters.hinted(tck));
        boolean struck = true;
        for (int number = 1; struck && number <= tck.rounds(8, 4); number++) {
            List<List<Integer>> wrong = new ArrayList<>();
            boolean right = false;
            for (int i = 0; i < TRIES && struck && !right; i++) {
                String name = tck.create(1);
                Permit held = tck.take(holder.semaphore(name), 1).get(0);
                clients.forEach(client ->
                        assertThat(client.semaphore(name).tryAcquire()).isEmpty());
                LinkFault fault = route.proxy().loseAnswer(number, Ending.RESET);
                List<Integer> served = new CopyOnWriteArrayList<>();
                List<CompletableFuture<?>> turns = comeOneAfterTheOther(tck, name, clients, served, fault);
                struck = fault.strikes() > 0;
                long since = System.nanoTime();
                held.release();
                tck.await("all clients are served", () -> turns.stream().allMatch(CompletableFuture::isDone));
                turns.forEach(CompletableFuture::join);
                right = served.get(0) == 0;
                if (struck && !right && tck.stoodStill(since, System.nanoTime()) < STOOD_STILL.toNanos()) {
                    wrong.add(served);
                }
            }
            if (!struck && number == 1) {
                throw new FaultMissedException("a client that begins to wait needs no answer");
            } else if (struck && !right && wrong.size() < 2) {
                throw new TestAbortedException(
                        "fewer than two tries count: the machine stood still while clients were served");
            } else if (struck && !right) {
                throw new AssertionError("client 0 lost answer " + number
                        + " when it began to wait, and in no try it was served before those that came later: "
                        + wrong);
            }
        }
    }

    /** The first one comes during a fault, and the others when it has asked again. */
    private static List<CompletableFuture<?>> comeOneAfterTheOther(
            TckFixture tck, String name, List<SemaphoreClient> clients, List<Integer> served, LinkFault fault) {
        List<CompletableFuture<?>> turns = new ArrayList<>();
        for (int i = 0; i < clients.size(); i++) {
            int client = i;
            turns.add(clients.get(client).semaphore(name).acquireAsync().thenCompose(permit -> {
                served.add(client);
                return permit.releaseAsync();
            }));
            tck.proveNothing("nobody is served while the permit is held", i == 0 ? RECOVERY : ARRIVAL, served::isEmpty);
            fault.heal();
        }
        return turns;
    }

    /** One of several connections may fall silent, and a renewal that waits for its answer must not use up the lease. */
    @Test
    @Rule({"13.5", "6.6"})
    void aConnectionThatFallsSilentLosesNothing(TckFixture tck) {
        Route route = tck.route();
        if (!outlivesCuts(tck) || !LongHolds.hasTimeForALease(tck)) {
            throw new TestAbortedException("a hold ends with its connection, or leases are long");
        }
        String name = tck.create(1);
        Watched held =
                new Watched(tck, tck.take(route.client().semaphore(name), 1).get(0));
        DistributedSemaphore others = tck.home().semaphore(name);
        LinkFault late = route.proxy().holdRequest(1);
        tck.await("a request falls silent", () -> late.strikes() > 0);
        assertKept(tck, held, others, "while one connection of its holder is silent");
        late.close();
        assertThat(held.losses()).as("losses reported").isEmpty();
        held.end();
        held.permit().close();
        tck.assertFree(name, 1);
    }
}
