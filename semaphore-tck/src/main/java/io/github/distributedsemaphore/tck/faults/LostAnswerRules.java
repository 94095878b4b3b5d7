package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.LongHolds;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Rules of sections 1, 4 and 13 about requests whose answer is lost after they were carried out, and about those that come late. */
@Section
public abstract class LostAnswerRules {
    private static final int UNDER_WAY_MILLIS = 20;

    /** No call of a sensible protocol needs more. */
    static final int MOST_ANSWERS = 60;

    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private static final Duration VAIN = Duration.ofMillis(200);

    /** How many requests of a call are held up, one after the other. */
    private static final int MOST_LATE = 6;

    /** For subclasses. */
    protected LostAnswerRules() {}

    /** A call during which one answer is lost: makes the fault when the call is due, and returns it healed. */
    @FunctionalInterface
    interface Step {
        LinkFault run(Supplier<LinkFault> losing) throws Exception;
    }

    /**
     * Loses the first answer during a call, in the next round the second, and so on until the call needs no more of them: so
     * each of its requests has its turn, whatever the protocol.
     */
    static void losingEachAnswer(TckFixture tck, Route route, String what, Step step) throws Exception {
        for (Ending ending : List.of(Ending.RESET, Ending.SILENCE)) {
            // What is silent takes as long as a time-out: there a quick run leaves it at the first ones.
            int most = ending == Ending.SILENCE ? tck.rounds(MOST_ANSWERS, 2) : MOST_ANSWERS;
            for (int round = 1; losesAnswer(route, round, ending, what, step); round++) {
                if (round == most && ending == Ending.SILENCE) {
                    break;
                } else if (round == most) {
                    throw new TestAbortedException(what + " needs more than " + most
                            + " answers, so what the loss of the last of them does was not seen");
                }
            }
        }
    }

    /** Returns whether there was an answer of that number, which was lost then. */
    private static boolean losesAnswer(Route route, int number, Ending ending, String what, Step step)
            throws Exception {
        LinkFault fault = step.run(() -> route.proxy().loseAnswer(number, ending));
        if (fault.heal() == 0 && number == 1) {
            throw new FaultMissedException("no answer to " + what + " was lost: " + fault);
        }
        return fault.strikes() > 0;
    }

    @Test
    @Rule({"1.7", "13.4"})
    void anAcquireWhoseAnswerIsLostTakesItsPermitOnce(TckFixture tck) throws Exception {
        String name = tck.create(2);
        Route route = tck.route();
        DistributedSemaphore victim = route.client().semaphore(name);
        Observer observer = new Observer(tck, tck.home().semaphore(name));
        Observer.assertWorks(tck, victim);
        losingEachAnswer(tck, route, "tryAcquire", losing -> {
            LinkFault fault = losing.get();
            Attempt<Optional<Permit>> attempt =
                    Attempt.of(tck, "tryAcquire", victim::tryAcquire).ended();
            fault.heal();
            if (attempt.failed() && attempt.certainlyChangedNothing()) {
                assertThat(tck.home().semaphore(name).availablePermits())
                        .as(
                                "free after a tryAcquire of which was said that it changed nothing (%s; %s)",
                                fault, attempt)
                        .isEqualTo(2);
            }
            if (!attempt.failed()) {
                Permit permit = attempt.value()
                        .orElseThrow(
                                () -> new AssertionError("a lost answer was taken for a refusal: both slots are free"));
                assertThat(Observer.verified(tck, permit)).isEqualTo(Verification.HELD);
                observer.awaitFree(1, "one acquire whose answer was lost takes one permit, " + fault);
                permit.release();
            }
            observer.awaitFree(2, "a permit whose grant was not answered is free within the detection time, " + fault);
            Observer.assertWorks(tck, victim);
            assertWaitsInVain(tck, victim);
            return fault;
        });
        tck.assertFree(name, 2);
    }

    /** What became of the request is known by now: that nothing is free in time is no failure. */
    private static void assertWaitsInVain(TckFixture tck, DistributedSemaphore victim) throws Exception {
        List<Permit> all = tck.take(tck.home().semaphore(victim.name()), 2);
        assertThat(victim.tryAcquire(VAIN))
                .as("a call that waits while all is held, once a lost answer was made up for")
                .isEmpty();
        all.forEach(Permit::release);
    }

    /** A client is still finding out what became of its request when the time of the call ends. */
    @Test
    @Rule({"13.4", "1.7"})
    void aCallWhoseTimeEndsBeforeItsAnswerComesIsNotToldThatNothingWasChanged(TckFixture tck) {
        Route route = tck.route();
        Duration most = tck.guarantees().callBound();
        LongHolds.assumeTimeFor(tck, most);
        String name = tck.create(1);
        // A short lease would end meanwhile, its slot would be free, and the wrong answer would look right.
        DistributedSemaphore victim = route.client(Waiters.hinted(tck)).semaphore(name);
        DistributedSemaphore others = tck.home().semaphore(name);
        for (int sixths : List.of(3, 5, 6)) {
            Duration wait = most.multipliedBy(sixths).dividedBy(6);
            Observer.assertWorks(tck, victim);
            LinkFault stall = route.proxy().stall(Direction.ANSWERS);
            Attempt<Optional<Permit>> attempt = Attempt.of(tck, "a call that waits", () -> victim.tryAcquire(wait))
                    .endedWithin(wait.plus(TckFixture.MOST_LATE));
            if (attempt.failed() && attempt.certainlyChangedNothing()) {
                assertThat(others.availablePermits())
                        .as("free after a call of which was said that it changed nothing (%s; %s)", stall, attempt)
                        .isEqualTo(1);
            }
            if (stall.heal() == 0) {
                throw new FaultMissedException("no answer was held up: " + stall);
            }
            new Observer(tck, others).awaitFree(1, "what was taken for a call that has ended is free");
        }
    }

    @Test
    @Rule({"4.6", "13.4"})
    void aReleaseWhoseAnswerIsLostCountsOnce(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Route route = tck.route();
        DistributedSemaphore victim = route.client().semaphore(name);
        DistributedSemaphore other = tck.home().semaphore(name);
        losingEachAnswer(tck, route, "release", losing -> {
            Permit held = tck.take(victim, 1).get(0);
            // What the grant has still under way is not the answer to the release.
            Pause.millis(UNDER_WAY_MILLIS);
            LinkFault fault = losing.get();
            Attempt<ReleaseOutcome> release =
                    Attempt.of(tck, "release", held::release).ended();
            Permit successor = new Observer(tck, other).takeOver("a slot whose release was not answered is free");
            fault.heal();
            assertThat(held.isValid()).as("isValid after a release").isFalse();
            assertThat(release.failed() ? ReleaseOutcome.RELEASED : release.value())
                    .as("what a release found whose answer was lost")
                    .isEqualTo(ReleaseOutcome.RELEASED);
            tck.proveNothing(
                    "a release that is tried again leaves the successor alone",
                    tck.quiet().multipliedBy(3),
                    () -> successor.verify() == Verification.HELD && other.availablePermits() == 0);
            successor.release();
            Observer.assertWorks(tck, victim);
            return fault;
        });
        tck.assertFree(name, 1);
    }

    /**
     * A request that was sent before its connection fell silent may reach the server after the client has gone on over another
     * connection, and holds again what it gave back before.
     */
    @Test
    @Rule({"4.6", "13.4"})
    void aReleaseThatComesLateFreesNothing(TckFixture tck) throws Exception {
        String name = tck.create(2);
        Route route = tck.route();
        DistributedSemaphore victim = route.client().semaphore(name);
        for (int round = 1; round <= tck.rounds(MOST_LATE, 2); round++) {
            Permit held = tck.take(victim, 1).get(0);
            holdingRequest(tck, route, round, victim, () -> {
                Attempt<ReleaseOutcome> unused =
                        Attempt.of(tck, "release", held::release).ended();
            });
        }
        tck.assertFree(name, 2);
    }

    /** What one caller leaves behind, because it left while its permit was on the way, is not enough for one that wants two. */
    @Test
    @Rule({"11.2", "3.6"})
    void aWaiterForTwoGetsTwoAlsoIfTheOneBeforeItLeaves(TckFixture tck) throws Exception {
        String name = tck.create(2);
        Route route = tck.route();
        DistributedSemaphore semaphore = route.client().semaphore(name);
        DistributedSemaphore others = tck.home().semaphore(name);
        Observer.assertWorks(tck, semaphore);
        long held = 0;
        for (int number = 1; number <= tck.rounds(MOST_LATE, 3); number++) {
            List<Permit> permits = tck.take(others, 2);
            CompletableFuture<Permit> leaves = semaphore.acquireAsync(PATIENCE);
            CompletableFuture<PermitGroup> stays = semaphore.acquireAsync(2, PATIENCE);
            tck.proveNothing("both wait", tck.quiet(), () -> !leaves.isDone() && !stays.isDone());
            LinkFault late = route.proxy().holdRequest(number);
            permits.get(0).release();
            tck.await(
                    "the request for the permit is held, or none is needed",
                    () -> late.strikes() > 0 || leaves.isDone());
            leaves.cancel(true);
            held += late.heal();
            if (!leaves.isCancelled()) {
                leaves.join().release();
            }
            permits.get(1).release();
            try (PermitGroup group = stays.get(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                assertThat(group.permits())
                        .as("what a caller has that asked for two, %s", late)
                        .hasSize(2);
            }
            tck.assertFree(name, 2);
        }
        if (held == 0) {
            throw new FaultMissedException("no request was held");
        }
    }

    /** The server may have changed for others when a client finds out what became of its request. A slot of which it says that it is free is free. */
    @Test
    @Rule({"4.6", "13.4"})
    void aReleaseThatSaysThatItIsDoneIsDoneAlsoIfOthersComeInBetween(TckFixture tck) {
        String name = tck.create(2);
        Route route = tck.route();
        DistributedSemaphore victim = route.client().semaphore(name);
        DistributedSemaphore others = tck.home().semaphore(name);
        for (int round = 1; round <= tck.rounds(MOST_LATE, 1); round++) {
            Permit held = tck.take(victim, 1).get(0);
            Pause.millis(UNDER_WAY_MILLIS);
            LinkFault late = route.proxy().holdRequest(round);
            Attempt<ReleaseOutcome> release = Attempt.of(tck, "release", held::release);
            tck.await("the request is held, or none is needed", () -> late.strikes() > 0 || release.isDone());
            tck.take(others, 1).get(0).release();
            if (!release.ended().failed()) {
                tck.await(
                        "a slot is free of which the release said so, " + late,
                        tck.guarantees().wakeUpBound(),
                        () -> others.availablePermits() == 2);
            }
            if (late.heal() == 0 && round == 1) {
                throw new FaultMissedException("no request was held: " + late);
            }
            new Observer(tck, others).awaitFree(2, "a slot whose release was held up is free, " + late);
        }
    }

    /** One request is on its way until the client has all permits. Then it arrives, and the client still has them. */
    private static void holdingRequest(
            TckFixture tck, Route route, int number, DistributedSemaphore victim, Runnable call) throws Exception {
        DistributedSemaphore others = tck.home().semaphore(victim.name());
        LinkFault late = route.proxy().holdRequest(number);
        call.run();
        Observer observer = new Observer(tck, victim);
        List<Permit> all =
                List.of(observer.takeOver("the first slot, " + late), observer.takeOver("the second slot, " + late));
        if (late.heal() == 0 && number == 1) {
            throw new FaultMissedException("no request was held: " + late);
        } else if (late.strikes() > 0) {
            tck.proveNothing(
                    "a request that comes late takes nothing from who holds now, " + late,
                    tck.quiet().multipliedBy(3),
                    () -> others.availablePermits() == 0);
        }
        assertThat(all)
                .as("permits that were granted before a request of the same client came late, %s", late)
                .allMatch(permit -> Observer.verified(tck, permit) == Verification.HELD);
        assertThat(others.tryAcquire())
                .as("what another client gets of two slots that are held, %s", late)
                .isEmpty();
        all.forEach(Permit::close);
        observer.awaitFree(2, "what is released after a request came late is free, " + late);
    }
}
