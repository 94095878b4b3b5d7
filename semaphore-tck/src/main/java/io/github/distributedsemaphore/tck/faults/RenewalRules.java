package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.LongHolds;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Section 6: what is held is renewed, until it is released. */
@Section
public abstract class RenewalRules {
    private static final int VERY_MANY = 300;
    private static final int RACED_RENEWALS = 3;

    /** A quick run does not wait for the renewals of longer leases. */
    private static final Duration LONGEST_RACE = Duration.ofSeconds(5);

    private static final Duration LONGEST_LOOK = Duration.ofSeconds(2);

    private static final int MOMENTARY = 6;

    private static final Duration MOMENT = Duration.ofMillis(40);

    /** For subclasses. */
    protected RenewalRules() {}

    @Test
    @Rule({"6.1", "2.11"})
    void aHoldOutlastsThreeDetectionBoundsByRenewal(TckFixture tck) throws Exception {
        Duration time = tck.guarantees().detectionMax().multipliedBy(3);
        LongHolds.assumeTimeFor(tck, time);
        String name = tck.create(1);
        Permit earlier = tck.take(tck.home().semaphore(name), 1).get(0);
        Duration validity = tck.validity(earlier.validUntil());
        earlier.release();
        // Nothing is there to be renewed meanwhile: renewals have to begin again.
        Pause.millis(validity.dividedBy(2).toMillis());
        Permit permit = tck.home().semaphore(name).acquire(tck.patience());
        Queue<PermitLoss> losses = new ConcurrentLinkedQueue<>();
        permit.onLost(losses::add);
        DistributedSemaphore other = tck.client().semaphore(name);
        tck.proveHeld(
                "a permit that is renewed stays valid and with its holder",
                time,
                validity,
                () -> permit.isValid() && losses.isEmpty() && other.tryAcquire().isEmpty());
        assertThat(permit.verify()).as("a permit after three detection bounds").isEqualTo(Verification.HELD);
        if (tck.has(Capability.LEASE)) {
            assertThat(tck.home().semaphore(name).statistics().renewals())
                    .as("renewals that are counted of a permit that was renewed")
                    .isPositive();
        }
        permit.release();
        tck.assertFree(name, 1);
    }

    /** An adapter may renew many in parts. */
    @Test
    @Rule({"6.1", "1.2"})
    void eachOfManyHoldsIsRenewed(TckFixture tck) throws Exception {
        Duration detection = tck.guarantees().detectionMax();
        Duration time = detection.plus(detection.dividedBy(5));
        LongHolds.assumeTimeFor(tck, time);
        int many = Math.min(tck.guarantees().maxPermits(), VERY_MANY);
        String name = tck.create(many);
        PermitGroup held = tck.home().semaphore(name).acquire(many, tck.patience());
        Duration validity = tck.validity(held.validUntil());
        DistributedSemaphore other = tck.client().semaphore(name);
        tck.proveHeld(
                "nobody gets one of " + many + " slots that are renewed",
                time,
                validity,
                () -> other.tryAcquire().isEmpty() && held.isValid());
        held.close();
        tck.assertFree(name, many);
    }

    /** At other semaphores permits are held for a moment each, so that a renewal meets one that was granted just before. */
    @Test
    @Rule({"6.2", "6.5"})
    void renewalThatRacesAReleaseReportsNoLoss(TckFixture tck) throws Exception {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Permit anchor = semaphore.acquire(tck.patience()); // keeps renewals going
        AtomicInteger losses = new AtomicInteger();
        anchor.onLost(loss -> losses.incrementAndGet());
        Duration validity = tck.validity(anchor.validUntil());
        long start = System.nanoTime();
        boolean renews = tck.has(Capability.LEASE);
        AtomicBoolean over = new AtomicBoolean();
        List<Task<Boolean>> others = Stream.generate(() -> tck.semaphore(1))
                .limit(MOMENTARY)
                .map(other -> tck.spawn("holds for moments", () -> holdForMoments(tck, other, losses, over)))
                .toList();
        do {
            for (int unused : tck.repeat(5_000, Duration.ofMillis(1_500))) {
                Permit permit = Waiters.soon(tck, semaphore, "a permit that was released is not free for the next");
                permit.onLost(loss -> losses.incrementAndGet());
                permit.release();
                permit.onLost(loss -> losses.incrementAndGet());
            }
        } while (renews
                && semaphore.statistics().renewals() < RACED_RENEWALS
                && System.nanoTime() - start < LONGEST_RACE.toNanos());
        over.set(true);
        others.forEach(Task::result);
        if (!anchor.isValid() || losses.get() > 0) {
            tck.abortIfStoodStill(validity, start);
        }
        assertThat(anchor.isValid())
                .as("the permit that was held all along is valid")
                .isTrue();
        anchor.close();
        tck.proveNothing("a release in order is reported as a loss to nobody", () -> losses.get() == 0);
        tck.assertFree(name, 2);
    }

    private static void holdForMoments(
            TckFixture tck, DistributedSemaphore semaphore, AtomicInteger losses, AtomicBoolean over) throws Exception {
        while (!over.get()) {
            Permit permit = semaphore.acquire(tck.patience());
            permit.onLost(loss -> losses.incrementAndGet());
            Pause.millis(MOMENT.toMillis());
            permit.release();
        }
    }

    /** A session that was not used for a while may be near its end. */
    @Test
    @Rule("6.1")
    void whatATryGetsAfterAnIdleTimeStaysHeld(TckFixture tck) {
        Duration detection = tck.guarantees().detectionMax();
        LongHolds.assumeTimeFor(tck, detection.multipliedBy(2));
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.client().semaphore(name);
        for (int percent : List.of(80, 130)) {
            tck.take(semaphore, 1).get(0).release();
            Pause.millis(detection.multipliedBy(percent).dividedBy(100).toMillis());
            Permit permit = semaphore
                    .tryAcquire()
                    .orElseThrow(() -> new AssertionError("nothing is granted after an idle time, and all is free"));
            tck.proveHeld(
                    "a permit that a try got after an idle time stays held",
                    detection.dividedBy(3),
                    detection.dividedBy(2),
                    permit::isValid);
            permit.release();
        }
        tck.assertFree(name, 1);
    }

    /** The client goes on renewing what it holds beside what it released. */
    @Test
    @Rule("6.2")
    void renewalEndsWithTheRelease(TckFixture tck) throws Exception {
        String name = tck.create(2);
        List<Permit> held = tck.take(tck.home().semaphore(name), 2);
        Permit kept = held.get(0);
        Permit released = held.get(1);
        Duration validity = tck.validity(kept.validUntil());
        released.release();
        Permit next = tck.client().semaphore(name).acquire(tck.patience());
        tck.proveHeld(
                "a released permit is not revived and the next holder keeps the slot",
                timeToRenew(tck),
                validity,
                () -> !released.isValid() && next.verify() == Verification.HELD);
        next.release();
        tck.assertFree(name, 1);
        kept.release();
    }

    /** In which a holder would have learnt of a loss, and has been renewed once at least. */
    private static Duration timeToRenew(TckFixture tck) {
        Duration time = tck.guarantees().lossNoticeBound();
        boolean hasTime = tck.full() || time.compareTo(LONGEST_LOOK) <= 0;
        return tck.has(Capability.LEASE) && hasTime ? time : tck.quiet();
    }
}
