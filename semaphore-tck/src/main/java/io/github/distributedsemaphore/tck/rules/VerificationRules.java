package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreListener;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongPredicate;
import org.junit.jupiter.api.Test;

/** Section 5: what a permit says about itself; and section 9: what others see of its holder, and what listeners hear of a client. */
@Section
public abstract class VerificationRules {
    /** For subclasses. */
    protected VerificationRules() {}

    @Test
    @Rule({"5.1", "5.4"})
    void verifyTellsHeldReleasedAndLost(TckFixture tck) throws Exception {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Permit permit = semaphore.acquire(tck.patience());
        assertThat(permit.semaphoreName()).as("the name that a permit tells").isEqualTo(name);
        assertThat(permit.verify()).as("a permit that is held").isEqualTo(Verification.HELD);
        assertThat(permit.isValid()).as("a permit that is held is valid").isTrue();
        permit.release();
        assertThat(permit.verify()).as("a permit that was released").isEqualTo(Verification.RELEASED);
        assertThat(permit.isValid()).as("a permit is valid after its release").isFalse();
        SemaphoreClient dying = tck.client();
        Permit aborted = dying.semaphore(name).acquire(tck.patience());
        dying.abort();
        assertThat(aborted.verify()).as("a permit whose client was aborted").isEqualTo(Verification.LOST);
        assertPast("a permit whose client was aborted", aborted.validUntil());
    }

    private static void assertPast(String what, Deadline validUntil) {
        assertThat(validUntil.isPast(System.nanoTime()))
                .as("the validity of %s lies in the past", what)
                .isTrue();
    }

    /** Where the holders themselves say who they are, a client has to be reached by way of each of its semaphores. */
    @Test
    @Rule("9.1")
    void aHolderIsNamedAtEachOfItsSemaphores(TckFixture tck) {
        SemaphoreClient client = tck.client(Waiters.lasting(tck).labelled("holder of several"));
        List<String> names = List.of(tck.create(1), tck.create(1), tck.create(1));
        List<Permit> held = new ArrayList<>();
        for (String name : names) {
            held.addAll(tck.take(client.semaphore(name), 1));
            awaitNamed(tck, name, held.get(held.size() - 1));
        }
        held.remove(0).release();
        held.addAll(tck.take(client.semaphore(names.get(0)), 1));
        awaitNamed(tck, names.get(0), held.get(held.size() - 1));
        held.forEach(Permit::release);
        names.forEach(name -> tck.assertFree(name, 1));
    }

    private static void awaitNamed(TckFixture tck, String name, Permit held) {
        tck.await("a description of " + name + " says who holds it, with which epoch", () -> {
            List<Holder> holders =
                    tck.home().admin().describe(name).orElseThrow().holders();
            return holders.size() == 1
                    && holders.get(0).label().equals("holder of several")
                    && holders.get(0).pid() == ProcessHandle.current().pid()
                    && (!tck.has(Capability.FENCING)
                            || holders.get(0).epoch() == held.fence().epoch());
        });
    }

    @Test
    @Rule({"5.1", "5.4"})
    void verifyTellsOfAHolderThatWasRemoved(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit permit = tck.home().semaphore(name).acquire(tck.patience());
        tck.state().removeHolder(name, permit.slot());
        tck.await(
                "verify tells that the holder was removed",
                tck.guarantees().lossNoticeBound(),
                () -> permit.verify() == Verification.LOST);
        assertThat(permit.isValid())
                .as("a permit is valid although verify found it lost")
                .isFalse();
        assertPast("a permit that verify found lost", permit.validUntil());
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("5.3")
    void onceAnotherHoldsTheSlotTheOldPermitIsLostForEver(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit old = tck.home().semaphore(name).acquire(tck.patience());
        tck.state().removeHolder(name, old.slot());
        Permit next = tck.client().semaphore(name).acquire(tck.patience());
        for (int unused : tck.repeat(100, Duration.ofMillis(300))) {
            assertThat(old.verify())
                    .as("the old holder's permit while another holds the slot")
                    .isEqualTo(Verification.LOST);
            assertThat(old.isValid())
                    .as("a permit is valid although another holds its slot")
                    .isFalse();
        }
        next.release();
        assertThat(old.verify()).as("a lost permit when the slot is free again").isEqualTo(Verification.LOST);
    }

    @Test
    @Rule("5.4")
    void validityIsNeverOverestimated(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        for (int unused : tck.repeat(50, Duration.ofMillis(500))) {
            long before = System.nanoTime();
            Permit permit = semaphore.acquire(tck.patience());
            Deadline validUntil = permit.validUntil();
            if (!tck.has(Capability.LEASE)) {
                assertThat(validUntil)
                        .as("the validity where the backend takes no slot from a living process")
                        .isEqualTo(Deadline.NEVER);
            } else {
                assertThat(validUntil.isNever())
                        .as("a permit of a backend with leases is valid without end")
                        .isFalse();
                assertThat(Duration.ofNanos(validUntil.nanosFrom(System.nanoTime())))
                        .as("validity is over-estimated: it reaches beyond the declared detection bound, when a dead"
                                + " holder's slot is free for others")
                        .isLessThanOrEqualTo(tck.guarantees().detectionMax());
                assertThat(validUntil.isPast(before))
                        .as("validity that ended before it began")
                        .isFalse();
            }
            permit.release();
            assertThat(permit.validUntil().isPast(System.nanoTime()))
                    .as("a released permit's validity lies in the past")
                    .isTrue();
        }
    }

    @Test
    @Rule({"5.1", "5.4"})
    void aGroupTellsTheWorstOfItsPermits(TckFixture tck) throws Exception {
        String name = tck.create(2);
        PermitGroup group = tck.home().semaphore(name).acquire(2, tck.patience());
        assertThat(group.semaphoreName()).as("the name that a group tells").isEqualTo(name);
        assertThat(group.verify()).as("a group that is held").isEqualTo(Verification.HELD);
        assertThat(group.isValid()).as("a group that is held is valid").isTrue();
        assertThat(group.validUntil().isPast(System.nanoTime()))
                .as("the validity of a group that is held is over")
                .isFalse();
        tck.home().admin().resize(name, 1);
        assertThat(group.verify()).as("a group of which one slot was removed").isEqualTo(Verification.RETIRED);
        tck.home().admin().resize(name, 2);
        assertThat(group.verify()).as("a group whose slots are all there again").isEqualTo(Verification.HELD);
        group.permits().get(0).release();
        assertThat(group.verify()).as("a group of which one was released").isEqualTo(Verification.RELEASED);
        assertThat(group.isValid()).as("a group of which one was released").isFalse();
        assertPast("a group of which one was released", group.validUntil());
        tck.home().admin().resize(name, 1);
        assertThat(group.verify())
                .as("a group of which one was released and another one's slot was removed")
                .isEqualTo(Verification.RELEASED);
        tck.home().admin().resize(name, 2);
        AtomicInteger losses = new AtomicInteger();
        group.onLost(loss -> losses.incrementAndGet());
        tck.state().removeHolder(name, group.permits().get(1).slot());
        tck.await(
                "a group is lost with one of its permits",
                tck.guarantees().lossNoticeBound(),
                () -> group.verify() == Verification.LOST);
        tck.await("the loss of a permit of a group is reported", () -> losses.get() == 1);
        group.close();
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("9.4")
    void listenersHearHowEachCallEnds(TckFixture tck) throws Exception {
        String name = tck.create(1);
        SemaphoreClient client = tck.client(Waiters.lasting(tck));
        DistributedSemaphore semaphore = client.semaphore(name);
        Permit early = tck.take(semaphore, 1).get(0);
        Heard heard = new Heard(tck);
        client.addListener(heard);
        early.release();
        heard.await("the release of a permit that was granted before", "released", name, nanos -> nanos == -1);
        // Nobody has asked for a permit since the listener came, so no request for a call can be taken for this one.
        heard.await("a request that only gives back", "exchange 0 1 true", name, nanos -> nanos > 0);
        heard.forget();
        Permit other =
                tck.take(tck.client(Waiters.lasting(tck)).semaphore(name), 1).get(0);
        assertHearFailures(tck, client, semaphore, heard);
        assertHearGrants(tck, semaphore, other, heard);
        assertBlocksOnlyItself(tck, client, semaphore);
        client.close();
        heard.await("the release of a permit by the close of its client", "released", name, nanos -> nanos > 0);
        assertIsAtRest(semaphore.statistics());
    }

    private static void assertHearFailures(
            TckFixture tck, SemaphoreClient client, DistributedSemaphore semaphore, Heard heard) throws Exception {
        String name = semaphore.name();
        long since = System.nanoTime();
        assertThat(semaphore.tryAcquire()).isEmpty();
        assertThat(semaphore.tryAcquire(Duration.ofMillis(20))).isEmpty();
        assertThat(semaphore.acquireAsync().cancel(false)).isTrue();
        String missing = tck.uniqueName("missing");
        DistributedSemaphore none = client.semaphore(missing);
        assertThatThrownBy(none::tryAcquire).isInstanceOf(NoSuchSemaphoreException.class);
        heard.await("a refusal", "refused", name, nanos -> true);
        heard.await("a time-out", "timed out", name, nanos -> nanos > 0 && nanos <= System.nanoTime() - since);
        heard.await("a cancelled call", "withdrawn", name, nanos -> nanos >= 0 && nanos <= System.nanoTime() - since);
        heard.await("a call for what is missing", "failed", missing, nanos -> nanos > 0);
        SemaphoreStatistics counted = semaphore.statistics();
        assertThat(List.of(counted.refused(), counted.timedOut(), counted.withdrawn(), counted.failed()))
                .as("calls that were refused, timed out, were withdrawn, failed")
                .containsExactly(1L, 1L, 1L, 0L);
        assertThat(none.statistics().failed())
                .as("calls that failed at a missing one")
                .isEqualTo(1);
    }

    private static void assertHearGrants(TckFixture tck, DistributedSemaphore semaphore, Permit other, Heard heard)
            throws Exception {
        String name = semaphore.name();
        CompletableFuture<Permit> waiter = semaphore.acquireAsync();
        long since = System.nanoTime();
        tck.proveNothing("a future waits while another client holds", () -> !waiter.isDone());
        long waited = System.nanoTime() - since;
        other.release();
        Permit permit = Waiters.served(tck, waiter, "a future was not completed by a release");
        heard.await("a grant after a wait", "acquired " + permit.slot() + " false", name, nanos -> nanos >= waited);
        heard.await("a request for a call", "exchange 1 0 true", name, nanos -> nanos > 0);
        permit.release();
        heard.await("a request that gives back", "exchange 0 1 true", name, nanos -> nanos > 0);
        heard.await("a release", "released", name, nanos -> nanos > 0 && nanos <= System.nanoTime() - since - waited);
        heard.forget();
    }

    /** Listeners are called under no lock of the library. The permit that is taken stays held. */
    private static void assertBlocksOnlyItself(TckFixture tck, SemaphoreClient client, DistributedSemaphore semaphore) {
        CountDownLatch called = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        SemaphoreListener blocking = new SemaphoreListener() {
            @Override
            public void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {
                called.countDown();
                Pause.until(goOn);
            }
        };
        client.addListener(blocking);
        Task<Optional<Permit>> attempt = tck.spawn("a listener that blocks", () -> semaphore.tryAcquire());
        try {
            tck.await("a listener is called", () -> called.getCount() == 0);
            Task<SemaphoreStatistics> statistics = tck.spawn("statistics", () -> semaphore.statistics());
            tck.await("statistics do not wait for a listener", statistics::isDone);
        } finally {
            goOn.countDown();
        }
        assertThat(attempt.result()).as("an attempt whose listener blocked").isPresent();
        client.removeListener(blocking);
    }

    private static void assertIsAtRest(SemaphoreStatistics end) {
        assertThat(end.held()).as("permits that are held after close").isZero();
        assertThat(end.validUntil())
                .as("the earliest end of a permit where none is held")
                .isEqualTo(Deadline.NEVER);
        assertThat(end.lost()).as("losses by cause").containsOnlyKeys(LossCause.values());
    }

    /** The news of one client. Some come after the call has returned. */
    private static final class Heard implements SemaphoreListener {
        private final TckFixture tck;
        private final Queue<Event> events = new ConcurrentLinkedQueue<>();

        private record Event(String what, String name, long nanos) {}

        Heard(TckFixture tck) {
            this.tck = tck;
        }

        void await(String what, String event, String name, LongPredicate nanos) {
            tck.await(
                    "listeners hear of " + what,
                    () -> events.stream()
                            .anyMatch(one ->
                                    one.what().equals(event) && one.name().equals(name) && nanos.test(one.nanos())));
        }

        void forget() {
            events.clear();
        }

        @Override
        public void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {
            events.add(new Event("acquired " + slot + " " + handedOff, semaphoreName, waitedNanos));
        }

        @Override
        public void onRefused(String semaphoreName) {
            events.add(new Event("refused", semaphoreName, 0));
        }

        @Override
        public void onTimedOut(String semaphoreName, long waitedNanos) {
            events.add(new Event("timed out", semaphoreName, waitedNanos));
        }

        @Override
        public void onWithdrawn(String semaphoreName, long waitedNanos) {
            events.add(new Event("withdrawn", semaphoreName, waitedNanos));
        }

        @Override
        public void onFailed(String semaphoreName, long waitedNanos) {
            events.add(new Event("failed", semaphoreName, waitedNanos));
        }

        @Override
        public void onReleased(String semaphoreName, int slot, long heldNanos) {
            events.add(new Event("released", semaphoreName, heldNanos));
        }

        @Override
        public void onExchange(String semaphoreName, int calls, int givenBack, long tookNanos, boolean answered) {
            events.add(new Event(
                    "exchange " + Math.min(calls, 1) + " " + Math.min(givenBack, 1) + " " + answered,
                    semaphoreName,
                    tookNanos));
        }
    }
}
