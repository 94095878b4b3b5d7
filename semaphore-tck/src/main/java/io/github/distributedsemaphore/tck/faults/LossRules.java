package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreListener;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Section 6: the news of a loss; for renewal see {@link RenewalRules}. */
@Section
public abstract class LossRules {
    /** For subclasses. */
    protected LossRules() {}

    private static final int MANY = 40;

    @Test
    @Rule("6.3")
    void aLostPermitIsNeverTakenAgainSilently(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit lost = tck.home().semaphore(name).acquire(tck.patience());
        CountDownLatch told = new CountDownLatch(1);
        lost.onLost(loss -> told.countDown());
        tck.state().removeHolder(name, lost.slot());
        tck.await(
                "a lost permit is reported as lost, and not taken again silently",
                tck.guarantees().lossNoticeBound(),
                () -> told.getCount() == 0);
        tck.proveNothing(
                "a lost permit is not taken again by a renewal or a new connection",
                () -> lost.verify() == Verification.LOST
                        && !lost.isValid()
                        && tck.home().semaphore(name).availablePermits() == 1);
        assertNothingIsRenewed(tck, tck.home().semaphore(name));
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("6.4")
    void aLossIsToldOnceAndInTime(TckFixture tck) throws Exception {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        AtomicInteger reported = new AtomicInteger();
        SemaphoreListener observer = countingLosses(name, reported);
        tck.home().addListener(observer);
        List<Permit> permits = tck.take(semaphore, 2);
        Queue<PermitLoss> losses = new ConcurrentLinkedQueue<>();
        AtomicInteger others = new AtomicInteger();
        permits.get(0).onLost(losses::add);
        permits.get(1).onLost(loss -> others.incrementAndGet());
        long since = System.nanoTime();
        tck.state().removeHolder(name, permits.get(0).slot());
        tck.await(
                "a holder is notified that its slot was taken from it",
                tck.guarantees().lossNoticeBound(),
                () -> !losses.isEmpty());
        tck.measure(Bound.LOSS_NOTICE, System.nanoTime() - since);
        PermitLoss loss = losses.element();
        assertThat(loss.semaphoreName())
                .as("the semaphore that the news of a loss names")
                .isEqualTo(name);
        assertThat(loss.slot())
                .as("the slot that the news names")
                .isEqualTo(permits.get(0).slot());
        assertThat(loss.reason()).as("the reason that the news gives").isNotBlank();
        assertThat(loss.cause())
                .as("the cause that the news gives of a slot that was removed")
                .isIn(LossCause.TAKEN_BY_BACKEND, LossCause.SESSION_ENDED);
        assertThat(permits.get(0).isValid())
                .as("a permit is valid although its loss was reported")
                .isFalse();
        tck.await("of two permits one is counted as lost, and reported to the client's listener", () -> {
            SemaphoreStatistics counted = semaphore.statistics();
            return counted.held() == 1
                    && counted.lost().values().stream()
                                    .mapToLong(Long::longValue)
                                    .sum()
                            == 1
                    && counted.lost().getOrDefault(loss.cause(), 0L) == 1
                    && reported.get() == 1;
        });
        permits.get(0).close();
        tck.proveNothing(
                "a loss is reported once, and only for the permit that is lost",
                () -> losses.size() == 1
                        && reported.get() == 1
                        && others.get() == 0
                        && permits.get(1).isValid());
        permits.get(1).release();
        tck.home().removeListener(observer);
        assertNothingIsRenewed(tck, semaphore);
        tck.assertFree(name, 2);
    }

    /** An adapter may keep other books where there are many slots. */
    @Test
    @Rule({"6.4", "2.8"})
    void theSlotOfOneOfManyThatIsLostIsGrantedAgain(TckFixture tck) throws Exception {
        int many = Math.min(tck.guarantees().maxPermits(), MANY);
        String name = tck.create(many);
        DistributedSemaphore other = tck.client().semaphore(name);
        List<Permit> held = tck.take(tck.home().semaphore(name), many);
        List<Permit> taken = new ArrayList<>();
        for (Permit lost : List.of(held.get(0), held.get(many / 2))) {
            tck.state().removeHolder(name, lost.slot());
            tck.await(
                    "a holder of many is notified that a slot was taken from it",
                    tck.guarantees().lossNoticeBound(),
                    () -> !lost.isValid());
            Permit again = tck.take(other, 1).get(0);
            assertThat(again.slot()).as("the slot that was lost").isEqualTo(lost.slot());
            assertThat(other.tryAcquire())
                    .as("one more of %s that are held", many)
                    .isEmpty();
            taken.add(again);
        }
        held.forEach(Permit::close);
        taken.forEach(Permit::close);
        tck.assertFree(name, many);
    }

    private static SemaphoreListener countingLosses(String name, AtomicInteger count) {
        return new SemaphoreListener() {
            @Override
            public void onLost(String semaphoreName, int slot, LossCause cause) {
                if (semaphoreName.equals(name)) {
                    count.incrementAndGet();
                }
            }
        };
    }

    private static void assertNothingIsRenewed(TckFixture tck, DistributedSemaphore semaphore) {
        long renewed = semaphore.statistics().renewals();
        Duration longer = tck.guarantees().detectionMax();
        tck.proveNothing(
                "nothing is renewed after the last permit was lost or released",
                tck.full() || longer.toSeconds() < 4 ? longer : tck.quiet(),
                // One may have been under way.
                () -> semaphore.statistics().renewals() <= renewed + 1);
    }

    @Test
    @Rule("6.5")
    void noLossIsToldAtReleaseOrClose(TckFixture tck) throws Exception {
        String name = tck.create(3);
        SemaphoreClient leaving = tck.client();
        Queue<PermitLoss> losses = new ConcurrentLinkedQueue<>();
        List<Permit> permits = tck.take(leaving.semaphore(name), 3);
        permits.forEach(permit -> permit.onLost(losses::add));
        permits.get(0).release();
        permits.get(1).close();
        leaving.close();
        tck.proveNothing("no loss is reported at a release, a close of a permit or of its client", losses::isEmpty);
        tck.assertFree(name, 3);
    }

    @Test
    @Rule("6.5")
    void aListenerThatComesAfterTheLossIsToldAtOnce(TckFixture tck) throws Exception {
        String name = tck.create(1);
        SemaphoreClient dying = tck.client();
        Permit lost = dying.semaphore(name).acquire(tck.patience());
        Queue<PermitLoss> before = new ConcurrentLinkedQueue<>();
        lost.onLost(before::add);
        dying.abort();
        tck.await("an abort is reported to the holders of the client's permits", () -> before.size() == 1);
        assertThat(before.element().cause())
                .as("the cause that the news gives of an abort")
                .isEqualTo(LossCause.CLIENT_ABORTED);
        AtomicInteger after = new AtomicInteger();
        lost.onLost(loss -> after.incrementAndGet());
        tck.await("a listener that comes after the loss is called at once", () -> after.get() == 1);
        tck.proveNothing("each listener is called once", () -> before.size() == 1 && after.get() == 1);
    }

    @Test
    @Rule("6.7")
    void badListenersHarmNeitherOthersNorRenewalNorRelease(TckFixture tck) throws Exception {
        String name = tck.create(4);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        List<Permit> permits = tck.take(semaphore, 4);
        Duration validity = tck.validity(permits.get(3).validUntil());
        CountDownLatch end = new CountDownLatch(1);
        AtomicInteger told = new AtomicInteger();
        permits.get(0).onLost(loss -> {
            throw new IllegalStateException("a listener that throws, on purpose");
        });
        permits.get(0).onLost(loss -> told.incrementAndGet());
        permits.get(1).onLost(loss -> Pause.until(end));
        permits.get(1).onLost(loss -> told.incrementAndGet());
        permits.get(2).onLost(loss -> {
            permits.get(2).close(); // re-entrant
            semaphore.availablePermits();
            told.incrementAndGet();
        });
        try {
            for (Permit permit : permits.subList(0, 3)) {
                tck.state().removeHolder(name, permit.slot());
            }
            tck.await(
                    "a throwing or blocking listener keeps no other listener from being called",
                    tck.guarantees().lossNoticeBound().plus(tck.guarantees().callBound()),
                    () -> told.get() == 3);
            Duration longer = tck.guarantees().detectionMax().plus(tck.quiet());
            tck.proveHeld(
                    "a blocking listener keeps no other permit from being renewed",
                    tck.full() || longer.toSeconds() < 4 ? longer : tck.quiet(),
                    validity,
                    permits.get(3)::isValid);
            permits.get(3).release();
        } finally {
            end.countDown();
        }
        tck.assertFree(name, 4);
    }

    @Test
    @Rule({"4.4", "6.8"})
    void aReleaseRightAfterTheStateWasRemovedSaysThatThePermitWasLost(TckFixture tck) throws Exception {
        String name = tck.create(2);
        List<Permit> held = tck.take(tck.home().semaphore(name), 2);
        tck.state().wipe(name);
        assertThat(held.get(0).release())
                .as("a release right after the stored state was removed")
                .isEqualTo(ReleaseOutcome.WAS_LOST);
        tck.home().admin().create(name, 2);
        assertThat(held.get(1).release())
                .as("a release after the stored state was removed and the semaphore created again")
                .isEqualTo(ReleaseOutcome.WAS_LOST);
        tck.assertFree(name, 2);
    }

    /** One request gives all of them back. */
    @Test
    @Rule({"4.4", "6.8"})
    void theReleaseOfAGroupSaysWhichOfItsPermitsWasLost(TckFixture tck) throws Exception {
        String name = tck.create(3);
        PermitGroup group = tck.home().semaphore(name).acquire(3, tck.patience());
        tck.state().removeHolder(name, group.permits().get(1).slot());
        Permit successor = tck.client().semaphore(name).acquire(tck.patience());
        assertThat(group.release())
                .as("what the release of a group says, of which another client has the second slot")
                .containsExactly(ReleaseOutcome.RELEASED, ReleaseOutcome.WAS_LOST, ReleaseOutcome.RELEASED);
        assertThat(successor.release()).isEqualTo(ReleaseOutcome.RELEASED);
        tck.assertFree(name, 3);
    }

    /** Both are of the same client and have the same slot. */
    @Test
    @Rule({"4.4", "6.3"})
    void aPermitOfRemovedStateIsNotTheOneThatItsClientTakesNext(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Permit former = semaphore.acquire(tck.patience());
        tck.state().wipe(name);
        tck.home().admin().create(name, 1);
        Permit next = semaphore.acquire(tck.patience());
        assertThat(former.release())
                .as("a release of what was removed, while its client has the slot again")
                .isEqualTo(ReleaseOutcome.WAS_LOST);
        assertThat(next.verify()).isEqualTo(Verification.HELD);
        assertThat(tck.client().semaphore(name).tryAcquire())
                .as("what another client gets of a slot that is held")
                .isEmpty();
        assertThat(next.release()).isEqualTo(ReleaseOutcome.RELEASED);
        tck.assertFree(name, 1);
    }

    @Test
    @Rule({"6.8", "12.6"})
    void whenTheStateIsRemovedHoldersLearnOfItAndWaitersDoNotHang(TckFixture tck) throws Exception {
        String name = tck.create(1);
        tck.home().semaphore(name).acquire(tck.patience()).release();
        // Until nothing is renewed any more: the next hold has to begin it again.
        Pause.millis(tck.guarantees().lossNoticeBound().toMillis());
        Permit held = tck.home().semaphore(name).acquire(tck.patience());
        CountDownLatch told = new CountDownLatch(1);
        held.onLost(loss -> told.countDown());
        Task<Permit> waiter = Waiters.blocked(tck, "waiter", tck.client().semaphore(name));
        tck.state().wipe(name);
        tck.await(
                "a holder is notified that the stored state was removed",
                tck.guarantees().lossNoticeBound(),
                () -> told.getCount() == 0);
        assertThat(held.isValid())
                .as("a permit is valid although its loss was reported")
                .isFalse();
        tck.await("a waiter does not hang when the stored state was removed", tck.patience(), waiter::isDone);
        waiter.failure(NoSuchSemaphoreException.class);
        tck.home().admin().create(name, 1);
        held.close();
        tck.assertFree(name, 1);
    }

    /** Nobody else in the holder's process calls the backend, where the one might notice it for the other. */
    @Test
    @Rule({"6.8", "12.6"})
    void aQuietHolderLearnsThatTheStateWasRemovedAlsoIfItIsThereAgain(TckFixture tck) {
        Agent other = tck.agent();
        List<String> names = List.of(tck.create(1), tck.create(1));
        CountDownLatch told = new CountDownLatch(2);
        List<Permit> held = new ArrayList<>();
        for (String name : names) {
            held.addAll(tck.take(tck.home().semaphore(name), 1));
            held.get(held.size() - 1).onLost(loss -> told.countDown());
        }
        names.forEach(tck.state()::wipe);
        assertThat(other.create(names.get(1), 1)).isTrue();
        tck.await(
                "two quiet holders are notified that the stored state was removed, of which one is there again",
                tck.guarantees().lossNoticeBound(),
                () -> told.getCount() == 0);
        assertThat(held).extracting(Permit::verify).containsOnly(Verification.LOST);
        other.release(other.take(names.get(1)));
        held.forEach(Permit::close);
        tck.home().admin().create(names.get(0), 1);
        names.forEach(name -> tck.assertFree(name, 1));
    }
}
