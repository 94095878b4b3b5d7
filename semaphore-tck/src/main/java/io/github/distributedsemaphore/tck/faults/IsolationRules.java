package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.run.TckTiming;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.LongHolds;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.Watched;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Rules of sections 1, 13 and 14 about a holder that is cut off for so long that it loses its slot. */
@Section
public abstract class IsolationRules {
    private static final int GRANTS = 4;

    private static final int MOMENTS = 6;

    /** For subclasses. */
    protected IsolationRules() {}

    @Test
    @Rule({"1.10", "13.3"})
    void aHolderThatIsCutOffKnowsOfItsLossBeforeAnybodyElseHasTheSlot(TckFixture tck) throws Exception {
        outlast(tck, TcpProxy::cutOff);
    }

    /** That the first one's time is over must not end the watch over the others. */
    @Test
    @Rule({"13.3", "14.3", "6.4"})
    void eachPermitOfAHolderThatIsCutOffIsToldOfItsOwnEnd(TckFixture tck) {
        String name = tck.create(2);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        Watched first = new Watched(tck, tck.take(semaphore, 1).get(0));
        if (!tck.has(Capability.LEASE) || first.permit().validUntil().isNever()) {
            throw new TestAbortedException("the permits of this backend are valid until they are released");
        }
        // Before they are renewed together.
        Pause.millis(tck.guarantees().detectionMax().dividedBy(20).toMillis());
        Watched second = new Watched(tck, tck.take(semaphore, 1).get(0));
        try (LinkFault fault = route.proxy().cutOff()) {
            Duration bound = tck.guarantees()
                    .detectionMax()
                    .plus(tck.guarantees().lossNoticeBound())
                    .plus(tck.guarantees().callBound());
            first.awaitTold(bound);
            second.awaitTold(bound);
            assertStruck(tck, fault, semaphore);
        }
        for (Watched each : List.of(first, second)) {
            each.end();
            assertThat(each.losses()).as("losses reported of one permit").hasSize(1);
            each.permit().close();
        }
        new Observer(tck, tck.home().semaphore(name))
                .awaitFree(2, "the slots of a holder that was cut off are free within the detection time");
        tck.assertFree(name, 2);
    }

    /**
     * An overlap of the length of a slow answer hides behind margins and behind the time that a successor takes. That the time
     * which is left gets shorter by as much as answers are late does not.
     */
    @Test
    @Rule({"5.4", "1.10"})
    void validityIsShorterByAsMuchAsAnswersAreLate(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        Observer.assertWorks(tck, semaphore);
        // One call of the adapter has a third of the bound, and many answers have to fit into that.
        Duration late = TckTiming.shorter(
                        tck.guarantees().detectionMax(),
                        tck.guarantees().callBound().dividedBy(3))
                .dividedBy(15);
        long usual = longestLeft(tck, semaphore);
        if (usual < 0) {
            throw new TestAbortedException("the permits of this backend are valid until they are released");
        }
        long left;
        try (LinkFault slow = route.proxy()
                .delay(late, late.plusMillis(1), new Random(tck.random().nextLong()), Direction.ANSWERS)) {
            left = longestLeft(tck, semaphore);
            assertThat(slow.strikes()).as("answers that were late").isPositive();
        }
        assertThat(Duration.ofNanos(left))
                .as(
                        "the longest validity that is left when answers are %s late, at most %s without; "
                                + "validity counts from before the request is sent",
                        late, Duration.ofNanos(usual))
                .isLessThan(Duration.ofNanos(usual).minus(late.dividedBy(2)));
        tck.assertFree(name, 1);
    }

    /** Takes permits and holds one for some renewals; returns the longest time that was left, or -1 if there is no end. */
    private static long longestLeft(TckFixture tck, DistributedSemaphore semaphore) throws Exception {
        long longest = 0;
        for (int i = 0; i < GRANTS; i++) {
            try (Permit permit = semaphore.acquire(tck.patience())) {
                if (permit.validUntil().isNever()) {
                    return -1;
                }
                longest = Math.max(longest, permit.validUntil().nanosFrom(System.nanoTime()));
            }
        }
        Duration renewals = tck.scaled(tck.guarantees().detectionMax());
        if (LongHolds.hasTimeForALease(tck)) {
            Permit permit = semaphore.acquire(tck.patience());
            long end = System.nanoTime() + renewals.toNanos();
            while (System.nanoTime() - end < 0) {
                longest = Math.max(longest, permit.validUntil().nanosFrom(System.nanoTime()));
                Pause.millis(1);
            }
            permit.release();
        }
        return longest;
    }

    @Test
    @Rule({"14.3", "13.5", "1.10"})
    void aHolderWhoseRenewalsStickKnowsOfItsLossBeforeAnybodyElseHasTheSlot(TckFixture tck) throws Exception {
        outlast(tck, IsolationRules::renewed, proxy -> proxy.stall(Direction.REQUESTS), IsolationRules::takeOver);
    }

    @Test
    @Rule({"1.10", "13.5"})
    void aHolderThatHearsNothingKnowsOfItsLossBeforeAnybodyElseHasTheSlot(TckFixture tck) throws Exception {
        outlast(tck, proxy -> proxy.lose(Direction.ANSWERS));
    }

    /** A permit that is granted between two renewals is valid from the first of them, whatever was asked since. */
    @Test
    @Rule({"5.4", "1.10"})
    void aGrantOfABusyClientIsNotValidForLonger(TckFixture tck) throws Exception {
        if (!LongHolds.hasTimeForALease(tck)) {
            throw new TestAbortedException("leases are long");
        }
        for (int round = 0; round < tck.rounds(8, 3); round++) {
            outlast(tck, IsolationRules::grantedAfterOthers, TcpProxy::cutOff, IsolationRules::takeOver);
        }
    }

    /** An adapter may skip some renewals, so holders are cut off at several moments between them. */
    @Test
    @Rule({"1.10", "5.4"})
    void wheneverAHolderIsCutOffItKnowsOfItsLossFirst(TckFixture tck) {
        if (!LongHolds.hasTimeForALease(tck)) {
            throw new TestAbortedException("leases are long");
        }
        Duration most = tck.guarantees().detectionMax().multipliedBy(2).plus(Observer.settling(tck));
        long since = System.nanoTime();
        List<Task<Boolean>> holders = new ArrayList<>();
        for (int i = 1; i <= MOMENTS; i++) {
            Duration held = tck.guarantees().detectionMax().multipliedBy(i).dividedBy(MOMENTS);
            holders.add(tck.spawn(
                    "a holder that is cut off after " + held,
                    () -> outlast(
                            tck,
                            (fixture, route, semaphore) -> {
                                Permit permit = granted(fixture, route, semaphore);
                                Pause.millis(held.toMillis());
                                return permit;
                            },
                            TcpProxy::cutOff,
                            IsolationRules::takeOver)));
        }
        for (Task<Boolean> holder : holders) {
            tck.await("holders that were cut off are lost", most, since, holder::isDone);
            holder.result();
        }
    }

    /** Whether a lease has ended counts from when it was looked at, not from when the look was sent or was heard of. */
    @Test
    @Rule("1.10")
    void anAttemptThatIsLateIsNotGrantedASlotEarly(TckFixture tck) throws Exception {
        outlast(tck, IsolationRules::granted, TcpProxy::cutOff, IsolationRules::takeOverByLateAttempts);
    }

    /** What was granted by a request without an answer is valid from when that was sent. */
    @Test
    @Rule({"5.4", "1.10", "13.4"})
    void aGrantWhoseAnswerWasLostIsNotValidForLonger(TckFixture tck) throws Exception {
        for (int number = 1; number <= tck.rounds(4, 2); number++) {
            int answer = number;
            outlast(
                    tck,
                    (fixture, route, semaphore) -> granted(fixture, route, semaphore, answer),
                    proxy -> proxy.lose(Direction.ANSWERS),
                    IsolationRules::takeOver);
        }
    }

    /** How a client gets the permit that it holds when it is cut off. */
    @FunctionalInterface
    private interface Grant {
        Permit of(TckFixture tck, Route route, DistributedSemaphore semaphore) throws Exception;
    }

    private static Permit granted(TckFixture tck, Route route, DistributedSemaphore semaphore) {
        return tck.take(semaphore, 1).get(0);
    }

    private static Permit granted(TckFixture tck, Route route, DistributedSemaphore semaphore, int lostAnswer)
            throws Exception {
        Observer.assertWorks(tck, semaphore);
        LinkFault lost = route.proxy().loseAnswer(lostAnswer, Ending.SILENCE);
        Permit permit = semaphore.acquire(tck.patience());
        lost.heal();
        return permit;
    }

    private static Permit grantedAfterOthers(TckFixture tck, Route route, DistributedSemaphore semaphore) {
        int most = (int) tck.guarantees().detectionMax().dividedBy(40).toMillis();
        for (int i = 0; i < GRANTS; i++) {
            Observer.assertWorks(tck, semaphore);
            Pause.millis(tck.random().nextInt(most + 1));
        }
        return granted(tck, route, semaphore);
    }

    /** The end of a validity that renewals have put off is to be noticed as well as that of the first one. */
    private static Permit renewed(TckFixture tck, Route route, DistributedSemaphore semaphore) {
        Permit permit = granted(tck, route, semaphore);
        Deadline first = permit.validUntil();
        Duration renewals = tck.scaled(tck.guarantees().detectionMax());
        if (!first.isNever() && LongHolds.hasTimeForALease(tck)) {
            tck.await("a permit outlasts its first validity", renewals, () -> first.isPast(System.nanoTime()));
        }
        return permit;
    }

    /** How somebody else gets the slot of a holder that is cut off. */
    @FunctionalInterface
    private interface TakeOver {
        Permit of(TckFixture tck, String name) throws Exception;
    }

    private static Permit takeOver(TckFixture tck, String name) throws Exception {
        return new Observer(tck, tck.home().semaphore(name))
                .takeOver("the slot of a holder that was cut off is free within the detection time");
    }

    /** The first request of each attempt is late, those that follow are not. */
    private static Permit takeOverByLateAttempts(TckFixture tck, String name) {
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        // Connects first. Where a hold ends with its connection, the slot may be free already.
        Optional<Permit> first = semaphore.tryAcquire();
        if (first.isPresent()) {
            return first.get();
        }
        // Where a hold may end at once with its connection, one whose connection is silent lasts for longer.
        Duration shortest = tck.guarantees().detectionMin();
        Duration lease = shortest.isZero() ? tck.guarantees().detectionMax() : shortest;
        Duration late = TckTiming.shorter(
                lease.dividedBy(4), tck.guarantees().callBound().dividedBy(9));
        long since = System.nanoTime();
        while (!tck.isOver(Observer.settling(tck), since)) {
            LinkFault stall = route.proxy().stall(Direction.REQUESTS);
            Attempt<Optional<Permit>> attempt = Attempt.of(tck, "an attempt that is late", semaphore::tryAcquire);
            Pause.millis(late.toMillis());
            stall.heal();
            if (!attempt.ended().failed() && attempt.value().isPresent()) {
                return attempt.value().get();
            }
        }
        throw new AssertionError(
                "the slot of a holder that was cut off is not granted to attempts that are late by " + late);
    }

    private static void outlast(TckFixture tck, Function<TcpProxy, LinkFault> cutOff) throws Exception {
        outlast(tck, IsolationRules::granted, cutOff, IsolationRules::takeOver);
    }

    private static void outlast(TckFixture tck, Grant grant, Function<TcpProxy, LinkFault> cutOff, TakeOver takeOver)
            throws Exception {
        if (!tck.has(Capability.CRASH_RELEASE)) {
            throw new TestAbortedException("CRASH_RELEASE is not declared: a holder that is cut off keeps its slot");
        }
        String name = tck.create(1);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        Watched former = new Watched(tck, grant.of(tck, route, semaphore));
        Permit successor;
        try (LinkFault fault = cutOff.apply(route.proxy())) {
            long since = System.nanoTime();
            successor = takeOver.of(tck, name);
            long granted = System.nanoTime();
            former.assertNoOverlap(Fault.LINK_CUT, granted);
            former.awaitTold(
                    tck.guarantees().lossNoticeBound().plus(tck.guarantees().callBound()));
            assertThat(former.permit().verify()).isEqualTo(Verification.LOST);
            assertStruck(tck, fault, semaphore);
            tck.measure(Bound.DETECTION, granted - since);
        }
        assertGoneForGood(tck, former, successor);
        successor.release();
        Observer.assertWorks(tck, route.client().semaphore(name));
        tck.assertFree(name, 1);
    }

    private static void assertStruck(TckFixture tck, LinkFault fault, DistributedSemaphore semaphore) {
        if (fault.strikes() == 0) {
            // A client that connects when it is asked for something has to be asked.
            assertThat(Attempt.of(tck, "tryAcquire", semaphore::tryAcquire)
                            .ended()
                            .failed())
                    .as("a call that is cut off fails")
                    .isTrue();
        }
        tck.await("the fault strikes", () -> fault.strikes() > 0);
    }

    /** What the former holder still does harms nobody, also what arrives late. */
    private static void assertGoneForGood(TckFixture tck, Watched former, Permit successor) {
        assertThat(former.permit().release()).as("the late release").isEqualTo(ReleaseOutcome.WAS_LOST);
        tck.proveNothing(
                "the successor keeps its permit when the former holder is back",
                () -> successor.verify() == Verification.HELD);
        assertThat(former.permit().isValid())
                .as("isValid of a lost permit when the link is back")
                .isFalse();
        assertThat(former.losses()).as("losses reported").hasSize(1);
        assertThat(former.losses().get(0).cause())
                .as("the cause that the news gives of a permit whose holder was cut off")
                .isIn(LossCause.NOT_RENEWED_IN_TIME, LossCause.SESSION_ENDED);
        if (tck.has(Capability.FENCING)) {
            assertThat(successor.fence().epoch())
                    .as("epoch of the successor")
                    .isGreaterThan(former.permit().fence().epoch());
        }
    }
}
