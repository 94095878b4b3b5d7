package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.agent.AgentException;
import io.github.distributedsemaphore.tck.agent.AgentPermits;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.history.Sometimes;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.GuardedStore;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** Section 14: pauses and clocks. Processes are stopped with SIGSTOP and go on with SIGCONT. */
@Section
public abstract class PauseRules {
    /** For subclasses. */
    protected PauseRules() {}

    @Test
    @Rule("14.1")
    void aShortPauseLosesNothing(TckFixture tck) {
        String name = tck.create(1);
        Agent agent = tck.agent();
        AgentPermits held = agent.take(name);
        Duration pause = tck.has(Capability.LEASE)
                ? Duration.ofNanos(held.validUntil() - held.returned()).dividedBy(4)
                : tck.scaled(tck.guarantees().detectionMax()).plus(tck.quiet());
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        long since = System.nanoTime();
        agent.stop();
        tck.proveHeld("nobody else gets the slot during the pause", pause, pause, () -> isRefused(semaphore));
        agent.resume();
        Verification found = agent.verify(held);
        if (found != Verification.HELD) {
            tck.abortIfStoodStill(pause, since);
        }
        assertThat(found).as("the permit after a pause of %s", pause).isEqualTo(Verification.HELD);
        assertThat(agent.state(held).valid()).as("isValid after the pause").isTrue();
        assertThat(agent.state(held).losses()).as("losses reported").isEmpty();
        assertThat(agent.release(held)).containsExactly(ReleaseOutcome.RELEASED);
        tck.take(semaphore, 1).get(0).release();
    }

    @Test
    @Rule({"14.1", "4.4", "7.4"})
    void aPauseBeyondTheLeaseEndsThePermitBeforeItsHolderCanAct(TckFixture tck) throws Exception {
        requireLease(tck);
        String name = tck.create(1);
        Agent agent = tck.agent();
        AgentPermits held = agent.take(name);
        agent.stop();
        long stopped = System.nanoTime();
        Permit successor = tck.home()
                .semaphore(name)
                .acquire(tck.scaled(tck.guarantees().detectionMax()).plus(tck.patience()));
        long granted = System.nanoTime();
        tck.assertWithin(Bound.DETECTION, tck.guarantees().detectionMax(), stopped, granted);
        agent.resume();
        Agent.State woken = agent.state(held);
        assertThat(woken.valid()).as("isValid after a pause beyond the lease").isFalse();
        tck.reached(Sometimes.STOPPED_BEYOND_VALIDITY);
        assertOverlap(tck, woken.lastValid(), granted);
        tck.await(
                "the holder is told of its loss",
                tck.guarantees().lossNoticeBound().plus(tck.patience()),
                () -> !agent.state(held).losses().isEmpty());
        assertThat(agent.verify(held)).isEqualTo(Verification.LOST);
        assertThat(agent.release(held)).as("the late release").containsExactly(ReleaseOutcome.WAS_LOST);
        assertThat(agent.state(held).losses()).as("losses reported").hasSize(1);
        assertThat(successor.verify())
                .as("the successor, after the late release")
                .isEqualTo(Verification.HELD);
        assertThat(tck.client().semaphore(name).tryAcquire()).isEmpty();
        assertFenced(tck, held, successor);
    }

    /** What ended in the pause stays ended, although the client goes on and renews what it has taken since. */
    @Test
    @Rule({"6.3", "14.1"})
    void aClientThatOversleptRenewsNothingOfOld(TckFixture tck) {
        requireLease(tck);
        String name = tck.create(2);
        Agent agent = tck.agent();
        List<AgentPermits> lost = List.of(agent.take(name), agent.take(name));
        // The pause begins after a renewal. A wrong client may keep a list of all that it has renewed.
        Pause.millis(Duration.ofNanos(lost.get(1).validUntil() - lost.get(1).returned())
                        .toMillis()
                / 2);
        agent.stop();
        Pause.millis(
                tck.scaled(tck.guarantees().detectionMax()).plus(tck.quiet()).toMillis());
        agent.resume();
        tck.await(
                "the holder is told of its loss",
                tck.guarantees().lossNoticeBound().plus(tck.patience()),
                () -> lost.stream()
                        .allMatch(permit -> !agent.state(permit).losses().isEmpty()));
        AgentPermits next = agent.take(name);
        // For longer than a lease, which a renewal of the old one would lengthen.
        Pause.millis(
                tck.scaled(tck.guarantees().detectionMax()).plus(tck.quiet()).toMillis());
        assertThat(tck.home().semaphore(name).availablePermits())
                .as("the slot that was lost in a pause is free although its former holder has another one: free")
                .isEqualTo(1);
        assertThat(agent.verify(next)).isEqualTo(Verification.HELD);
        assertThat(agent.release(next)).containsExactly(ReleaseOutcome.RELEASED);
        tck.assertFree(name, 2);
    }

    /** The holder may have believed in its permit for no longer than the backend declares. Stopped at once, it never looked. */
    private static void assertOverlap(TckFixture tck, long lastValid, long granted) {
        Duration overlap = Duration.ofNanos(Math.max(lastValid, granted) - granted);
        tck.measure(Bound.PAUSE_EXPOSURE, overlap.toNanos());
        Exposure declared = tck.guarantees().exposure(Fault.CLIENT_PAUSE);
        assertThat(overlap)
                .as("how long the stopped holder said to be valid after its successor was let in")
                .matches(declared::covers, "is within the declared exposure: " + declared);
    }

    private static void assertFenced(TckFixture tck, AgentPermits former, Permit successor) {
        if (tck.has(Capability.FENCING)) {
            GuardedStore store = new GuardedStore();
            assertThat(store.write(successor.fence())).isTrue();
            assertThat(store.write(former.fences().get(0)))
                    .as("the late write of the stopped holder to a store that compares fences")
                    .isFalse();
        }
    }

    @Test
    @Rule("14.2")
    void aWaiterThatSleepsThroughItsTurnHoldsValidlyOrNotAtAll(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Agent agent = tck.agent();
        Permit held = tck.take(tck.home().semaphore(name), 1).get(0);
        CompletableFuture<Optional<AgentPermits>> waiting = agent.acquiring(name, 1, Duration.ofMinutes(10));
        tck.proveNothing("the waiter waits", () -> !waiting.isDone());
        agent.stop();
        giveBack(held);
        DistributedSemaphore semaphore = tck.client().semaphore(name);
        if (tck.has(Capability.CRASH_RELEASE) && tck.has(Capability.LEASE)) {
            tck.await(
                    "what a stopped waiter missed is with others within the detection time",
                    tck.guarantees().detectionMax().plus(tck.guarantees().callBound()),
                    () -> !isRefused(semaphore));
        } else {
            Pause.millis(tck.quiet().toMillis());
        }
        agent.resume();
        AgentPermits late = waiting.join().orElseThrow();
        assertThat(agent.state(late).valid())
                .as("isValid of a permit that was just granted")
                .isTrue();
        assertThat(agent.verify(late)).isEqualTo(Verification.HELD);
        assertThat(semaphore.tryAcquire()).as("a second permit of a limit of 1").isEmpty();
        assertThat(agent.release(late)).containsExactly(ReleaseOutcome.RELEASED);
        tck.assertFree(name, 1);
    }

    /** Tries, and gives back at once what it gets. A backend that a stopped process holds up refuses as well. */
    private static boolean isRefused(DistributedSemaphore semaphore) {
        try {
            Optional<Permit> permit = semaphore.tryAcquire();
            permit.ifPresent(PauseRules::giveBack);
            return permit.isEmpty();
        } catch (BackendUnavailableException e) {
            return true;
        }
    }

    /** Releases it, or leaves that to its client, which goes on trying: a stopped process may hold the backend up. */
    private static void giveBack(Permit permit) {
        try {
            permit.release();
        } catch (OutcomeUnknownException e) {
            // What follows asks whether the slot became free.
        }
    }

    /** A process that is stopped in the middle of a change holds up what it has locked, but nobody's time. */
    @Test
    @Rule("3.2")
    void aProcessThatIsStoppedAtWorkHoldsUpNobodysTime(TckFixture tck) {
        String name = tck.create(4);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Duration time = Duration.ofMillis(50);
        Agent agent = tck.agent();
        CompletableFuture<?> resizing = agent.resizeForEver(name, 1, 4);
        for (int i = 0; i < 15; i++) {
            // A change may fail because of the stop before it.
            resizing = resizing.isDone() ? agent.resizeForEver(name, 1, 4) : resizing;
            Pause.millis(20 + tck.random().nextInt(20));
            agent.stop();
            TimedCall.Ended ended = TimedCall.start(
                            tck,
                            "tryAcquire(maxWait) while another process is stopped",
                            () -> semaphore.tryAcquire(time))
                    .endsAfter(time);
            agent.resume();
            if (ended.value() instanceof Optional<?> found
                    && found.isPresent()
                    && found.get() instanceof Permit permit) {
                giveBack(permit);
            }
        }
        agent.kill9();
        // What it has left half-made goes with the next change.
        assertThat(tck.create(1)).isNotEmpty();
    }

    /** What a call has asked for, such as a lock, may come when nobody waits for it any more. */
    @Test
    @Rule("3.1")
    void aProcessThatWasStoppedAtWorkForLongerThanACallGoesOn(TckFixture tck) {
        String name = tck.create(4);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        Agent agent = tck.agent();
        int heldUp = 0;
        CompletableFuture<?> resizing = agent.resizeForEver(name, 1, 4);
        for (int i = 0; i < 12 && heldUp < 3; i++) {
            resizing = resizing.isDone() ? agent.resizeForEver(name, 1, 4) : resizing;
            Pause.millis(20 + tck.random().nextInt(20));
            agent.stop();
            Attempt<Optional<Permit>> attempt = Attempt.of(
                            tck, "tryAcquire while another process is stopped", semaphore::tryAcquire)
                    .ended();
            agent.resume();
            heldUp += attempt.failed() ? 1 : 0;
            tck.await("the process that was stopped goes on", () -> isChanged(agent, name, 4));
            if (!attempt.failed()) {
                attempt.value().ifPresent(PauseRules::giveBack);
            }
        }
        agent.kill9();
        assertThat(tck.create(1)).isNotEmpty();
    }

    /** A change may fail because of the stop before it. */
    private static boolean isChanged(Agent agent, String name, int limit) {
        try {
            agent.resize(name, limit);
            return true;
        } catch (AgentException e) {
            return false;
        }
    }

    private static void requireLease(TckFixture tck) {
        if (!tck.has(Capability.LEASE)) {
            throw new TestAbortedException(
                    "LEASE is not declared; that a stopped holder keeps its slot is shown elsewhere");
        }
    }
}
