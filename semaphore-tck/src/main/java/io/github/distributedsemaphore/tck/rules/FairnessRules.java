package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/**
 * Section 11: the order in which the waiters of one client are served, and that a slot which passes between them has one holder. For the
 * order between clients see {@link ArrivalRules}.
 */
@Section
public abstract class FairnessRules {
    /** So many attempts do not all come to nothing by chance. */
    private static final int ATTEMPTS = 6;

    private static final int MOST_ATTEMPTS = 40;

    private static final Duration QUICK = Duration.ofMillis(25);

    /** For subclasses. */
    protected FairnessRules() {}

    @Test
    @Rule("11.1")
    void threadsOfOneClientAreServedInTheOrderOfTheirArrival(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(1);
        List<Integer> order = new CopyOnWriteArrayList<>();
        Permit held = semaphore.acquire(tck.patience());
        List<Task<Void>> waiters = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            waiters.add(arrival(tck, semaphore, order, i));
        }
        held.release();
        for (Task<Void> waiter : waiters) {
            waiter.result();
        }
        assertThat(order).as("the order in which waiters 0 to 7 were served").containsExactly(0, 1, 2, 3, 4, 5, 6, 7);
    }

    private static Task<Void> arrival(TckFixture tck, DistributedSemaphore semaphore, List<Integer> order, int number) {
        Task<Void> waiter = tck.spawn("waiter " + number, () -> {
            try (Permit permit = semaphore.acquire(tck.patience())) {
                assertThat(permit.isValid())
                        .as("a permit that was just granted is valid")
                        .isTrue();
                order.add(number);
            }
            return null;
        });
        waiter.awaitBlocked();
        return waiter;
    }

    @Test
    @Rule("11.1")
    void aLargeRequestIsNotOvertakenByLaterOnesOfItsClient(TckFixture tck) throws Exception {
        isNotOvertaken(tck, tck.home());
        // What is released goes to no later one without the backend either.
        isNotOvertaken(tck, tck.client(Waiters.handingOn(tck)));
    }

    private static void isNotOvertaken(TckFixture tck, SemaphoreClient client) throws Exception {
        String name = tck.create(3);
        DistributedSemaphore semaphore = client.semaphore(name);
        List<Permit> held = tck.take(semaphore, 3);
        Task<PermitGroup> large = tck.spawn("large request", () -> semaphore.acquire(3, tck.patience()));
        large.awaitBlocked();
        Task<Permit> small = Waiters.blocked(tck, "later small request", semaphore);
        held.get(0).release();
        held.get(1).release();
        tck.proveNothing("a later request does not overtake the large one", () -> !small.isDone());
        held.get(2).release();
        PermitGroup group = large.result();
        assertThat(small.isDone())
                .as("a small request was served beside a group of all three")
                .isFalse();
        long since = System.nanoTime();
        group.close();
        Waiters.served(tck, small, since, "the request behind a large one was not served")
                .release();
        tck.assertFree(name, 3);
    }

    /** It does not wait behind the large one without end: when its time is over it makes one attempt. */
    @Test
    @Rule({"3.3", "11.1"})
    void aShortWaitBehindALargeRequestIsAnAttempt(TckFixture tck) throws Exception {
        String name = tck.create(2);
        Permit held =
                tck.take(tck.client(Waiters.lasting(tck)).semaphore(name), 1).get(0);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Task<PermitGroup> large = tck.spawn(
                "large request", () -> semaphore.acquire(2, tck.patience().multipliedBy(2)));
        large.awaitBlocked();
        assertGranted(tck, semaphore);
        assertThat(large.isDone())
                .as("a request for two was served while another client holds one of two")
                .isFalse();
        held.release();
        large.result().close();
        tck.assertFree(name, 2);
    }

    /** An attempt has a tenth of a second for its answer. Where a call that does not wait takes so long too, that says nothing. */
    private static void assertGranted(TckFixture tck, DistributedSemaphore semaphore) throws InterruptedException {
        int empty = 0;
        for (int unused : tck.repeat(MOST_ATTEMPTS, tck.patience().dividedBy(2))) {
            Optional<Permit> permit = semaphore.tryAcquire(Duration.ofMillis(50));
            if (permit.isPresent()) {
                permit.get().close();
                return;
            }
            long start = System.nanoTime();
            Optional<Permit> atOnce = semaphore.tryAcquire();
            empty += atOnce.isPresent() && System.nanoTime() - start < QUICK.toNanos() ? 1 : 0;
            atOnce.ifPresent(Permit::close);
            assertThat(empty)
                    .as("calls with a short time that got nothing, behind a large request that cannot be served")
                    .isLessThan(ATTEMPTS);
        }
        throw new TestAbortedException("the machine left no time for an attempt");
    }

    /** What becomes free at once is enough for all but the large one, and they may be asked for in one exchange. */
    @Test
    @Rule("11.1")
    void aLargeRequestBehindASmallOneIsNotOvertakenEither(TckFixture tck) throws Exception {
        String name = tck.create(3);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        PermitGroup held = tck.client().semaphore(name).acquire(3, tck.patience());
        Task<Permit> first = Waiters.blocked(tck, "small request before the large one", semaphore);
        Task<PermitGroup> large = tck.spawn("large request", () -> semaphore.acquire(3, tck.patience()));
        large.awaitBlocked();
        Task<Permit> small = Waiters.blocked(tck, "later small request", semaphore);
        long since = System.nanoTime();
        held.close();
        Permit permit = Waiters.served(tck, first, since, "the request before a large one was not served");
        tck.proveNothing("a later request does not overtake the large one", () -> !small.isDone());
        permit.release();
        PermitGroup group = large.result();
        assertThat(small.isDone())
                .as("a small request was served beside a group of all three")
                .isFalse();
        group.close();
        small.result().release();
        tck.assertFree(name, 3);
    }

    @Test
    @Rule("11.2")
    void aWaiterThatLeavesChangesNotTheOrderOfTheRest(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(1);
        List<Integer> order = new CopyOnWriteArrayList<>();
        Permit held = semaphore.acquire(tck.patience());
        Task<Permit> timed = tck.spawn("leaves by time-out", () -> semaphore.acquire(Duration.ofMillis(150)));
        List<Task<Void>> waiters = new ArrayList<>(List.of(arrival(tck, semaphore, order, 0)));
        Task<Permit> interrupted = Waiters.blocked(tck, "leaves by interrupt", semaphore);
        waiters.add(arrival(tck, semaphore, order, 1));
        waiters.add(arrival(tck, semaphore, order, 2));
        interrupted.interrupt();
        interrupted.failure(InterruptedException.class);
        timed.failure(SemaphoreTimeoutException.class);
        held.release();
        for (Task<Void> waiter : waiters) {
            waiter.result();
        }
        assertThat(order)
                .as("the order in which waiters 0 to 2 were served after two others had left")
                .containsExactly(0, 1, 2);
    }

    /** Of several waiters one client may ask for the first alone, and then has to ask for the next. */
    @Test
    @Rule("11.2")
    void whenALargeRequestIsServedThoseBehindItAreToo(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Permit held = tck.take(tck.client().semaphore(name), 1).get(0);
        DistributedSemaphore semaphore = tck.client(Waiters.hinted(tck)).semaphore(name);
        tck.home().admin().resize(name, 2);
        Task<PermitGroup> large = tck.spawn("large request", () -> semaphore.acquire(2, tck.patience()));
        large.awaitBlocked();
        Task<Permit> small = Waiters.blocked(tck, "small request behind a large one", semaphore);
        long since = System.nanoTime();
        tck.home().admin().resize(name, 4);
        Waiters.served(tck, small, since, "those behind a large request that was served were not")
                .release();
        large.result().close();
        held.release();
        tck.assertFree(name, 4);
    }

    @Test
    @Rule("11.2")
    void whenALargeRequestHasBecomeImpossibleThoseBehindItAreServed(TckFixture tck) throws Exception {
        String name = tck.create(3);
        Permit held = tck.take(tck.client().semaphore(name), 1).get(0);
        DistributedSemaphore semaphore = tck.client(Waiters.hinted(tck)).semaphore(name);
        Task<PermitGroup> large = tck.spawn("large request", () -> semaphore.acquire(3, tck.patience()));
        large.awaitBlocked();
        Task<Permit> small = Waiters.blocked(tck, "small request behind a large one", semaphore);
        // A backend may tell waiters of that or not. If it does, no other news is to come.
        tck.home().admin().resize(name, 2);
        long told =
                System.nanoTime() + tck.scaled(tck.guarantees().wakeUpBound()).toNanos();
        while (!large.isDone() && System.nanoTime() - told < 0) {
            Pause.millis(1);
        }
        if (!large.isDone()) {
            held.release();
        }
        large.failure(IllegalArgumentException.class);
        Waiters.served(
                        tck,
                        small,
                        large.endedAt(),
                        "those behind a request that is larger than the limit were not served")
                .release();
        held.close();
        tck.assertFree(name, 2);
    }

    /** A slot that passes to the next waiter of its client has had two permits, and one of them counts. */
    @Test
    @Rule({"4.1", "5.1", "6.4", "3.7"})
    void aPermitThatWasHandedOnIsTheNextHoldersOnly(TckFixture tck) throws Exception {
        for (boolean closes : new boolean[] {true, false}) {
            // What an aborted client held is free when its lease has ended.
            ClientSpec spec = closes ? Waiters.lasting(tck) : ClientSpec.plain();
            HandedOn pair = handedOn(tck, spec.with("handOffTime", "10s"));
            assertThat(pair.former.release())
                    .as("the second release of a permit that was handed on")
                    .isEqualTo(ReleaseOutcome.ALREADY_RELEASED);
            pair.former.close();
            pair.assertOneIsHeld();
            if (closes) {
                pair.assertClosed();
            } else {
                pair.assertAborted();
            }
        }
    }

    private static HandedOn handedOn(TckFixture tck, ClientSpec spec) throws Exception {
        for (int i = 0; i < 3; i++) {
            HandedOn pair = new HandedOn(tck, tck.client(spec), tck.create(1));
            if (pair.semaphore.statistics().grantedByHandOff() > 0) {
                return pair;
            }
            pair.next.close();
        }
        throw new TestAbortedException("no released permit was handed on to a waiter of its client");
    }

    /** A permit that its holder released, and that of a waiter of the same client which got the slot without the backend. */
    private static final class HandedOn {
        private final TckFixture tck;
        private final SemaphoreClient client;
        private final DistributedSemaphore semaphore;
        private final DistributedSemaphore others;
        private final long since = System.nanoTime();
        private final Permit former;
        private final Permit next;
        private final Queue<PermitLoss> formerLosses = new ConcurrentLinkedQueue<>();
        private final Queue<PermitLoss> losses = new ConcurrentLinkedQueue<>();
        private final Duration validity;

        HandedOn(TckFixture tck, SemaphoreClient client, String name) throws Exception {
            this.tck = tck;
            this.client = client;
            this.semaphore = client.semaphore(name);
            this.others = tck.home().semaphore(name);
            this.former = tck.take(semaphore, 1).get(0);
            this.validity = tck.validity(former.validUntil());
            former.onLost(formerLosses::add);
            Task<Permit> waiter = Waiters.blocked(tck, "waiter of the same client", semaphore);
            // What the backend may be granting to the waiter at this moment is not handed on.
            Pause.millis(tck.quiet().toMillis());
            ReleaseOutcome outcome = former.release();
            if (outcome == ReleaseOutcome.WAS_LOST) {
                tck.abortIfStoodStill(validity, since);
            }
            assertThat(outcome).as("what the release found").isEqualTo(ReleaseOutcome.RELEASED);
            this.next = waiter.result();
            next.onLost(losses::add);
        }

        void assertOneIsHeld() {
            if (!next.isValid()) {
                tck.abortIfStoodStill(validity, since);
            }
            assertThat(next.isValid())
                    .as("the permit that was handed on is valid")
                    .isTrue();
            Verification found = next.verify();
            if (found == Verification.LOST) {
                tck.abortIfStoodStill(validity, since);
            }
            assertThat(found).as("the permit that was handed on").isEqualTo(Verification.HELD);
            assertThat(next.slot()).as("the slot that was handed on").isEqualTo(former.slot());
            if (tck.has(Capability.FENCING)) {
                assertThat(next.fence().epoch())
                        .as("the epoch of the permit that was handed on")
                        .isGreaterThan(former.fence().epoch());
            }
            assertFormerIsReleased();
            Optional<Permit> another = others.tryAcquire();
            int held = semaphore.statistics().held();
            if (another.isPresent() || held != 1) {
                tck.abortIfStoodStill(validity, since);
            }
            assertThat(another)
                    .as("the second release of a permit that was handed on freed its slot")
                    .isEmpty();
            assertThat(held).as("permits that the client says it holds").isEqualTo(1);
        }

        private void assertFormerIsReleased() {
            assertThat(former.isValid())
                    .as("a released permit is valid when its slot was handed on")
                    .isFalse();
            assertThat(former.verify())
                    .as("a released permit whose slot was handed on")
                    .isEqualTo(Verification.RELEASED);
        }

        void assertClosed() {
            client.close();
            assertThat(next.isValid()).as("isValid() after close").isFalse();
            assertThat(next.verify()).as("verify() after close").isEqualTo(Verification.RELEASED);
            assertThat(losses).as("losses of a client that is closed in order").isEmpty();
            assertThat(others.tryAcquire())
                    .as("the slot that was handed on, when its client was closed")
                    .hasValueSatisfying(Permit::close);
        }

        void assertAborted() {
            client.abort();
            assertThat(next.isValid()).as("isValid() after abort").isFalse();
            assertThat(next.verify()).as("verify() after abort").isEqualTo(Verification.LOST);
            tck.await("the loss of a permit that was handed on is reported", () -> !losses.isEmpty());
            if (losses.element().cause() != LossCause.CLIENT_ABORTED) {
                tck.abortIfStoodStill(validity, since);
            }
            assertFormerIsReleased();
            assertThat(losses)
                    .as("losses of the permit that was handed on")
                    .extracting(PermitLoss::cause)
                    .containsExactly(LossCause.CLIENT_ABORTED);
            assertThat(formerLosses)
                    .as("losses of the permit that was released")
                    .isEmpty();
        }
    }
}
