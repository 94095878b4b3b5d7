package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.agent.AgentPermits;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.Violation;
import io.github.distributedsemaphore.tck.history.Workload;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Outsider;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Rules of sections 1, 2 and 16 that take more than one process; for wake-ups see {@link WakeUpRules}. */
@Section
public abstract class CrossProcessRules {
    private static final Duration SHORTLY = Duration.ofMillis(50);

    /** For subclasses. */
    protected CrossProcessRules() {}

    @Test
    @Rule({"1.3", "7.1"})
    void processesTogetherHoldNoMoreThanTheLimit(TckFixture tck) throws Exception {
        int limit = 3;
        String name = tck.create(limit);
        Agent one = tck.agent();
        Agent other = tck.agent();
        List.of(one, other).forEach(Agent::watchTime);
        Workload workload = Workload.of(limit, 4, tck.seed())
                .withLargest(2)
                .withRounds(tck.rounds(5_000, 400), 4_000)
                .untilHeld(1);
        CompletableFuture<History> first = one.contend(name, workload, "a");
        CompletableFuture<History> second = other.contend(name, workload, "b");
        History here = workload.run(List.of(tck.client().semaphore(name)), tck.recorder("c"));
        History all = here.with(first.get()).with(second.get());
        tck.judge(all, one, other);
        for (String process : List.of("a", "b", "c")) {
            assertThat(all.operations())
                    .as("grants to process %s", process)
                    .anyMatch(operation ->
                            operation.isGrant() && operation.process().startsWith(process));
        }
        tck.assertFree(name, limit);
    }

    @Test
    @Rule({"1.3", "1.6"})
    void whatAnotherProcessHoldsIsTaken(TckFixture tck) {
        String name = tck.create(2);
        Agent agent = tck.agent();
        AgentPermits there = agent.take(name);
        Permit here = tck.take(tck.home().semaphore(name), 1).get(0);
        assertThat(agent.tryAcquire(name))
                .as("a third permit of two, over there")
                .isEmpty();
        assertThat(tck.home().semaphore(name).tryAcquire())
                .as("a third permit of two, over here")
                .isEmpty();
        assertThat(here.slot()).as("two processes hold two slots").isNotIn(there.slots());
        assertThat(agent.release(there)).containsExactly(ReleaseOutcome.RELEASED);
        tck.take(tck.home().semaphore(name), 1).get(0).release();
    }

    @Test
    @Rule("9.1")
    void aHolderIsShownAsTheProcessThatHolds(TckFixture tck) {
        String name = tck.create(2);
        Agent agent = tck.agent();
        AgentPermits there = agent.take(name);
        Permit here = tck.take(tck.home().semaphore(name), 1).get(0);
        List<Holder> shown = tck.client().admin().describe(name).orElseThrow().holders();
        Holder other = of(shown, there.slots().get(0));
        Holder own = of(shown, here.slot());
        assertThat(other.pid()).as("the process of a holder elsewhere").isEqualTo(agent.pid());
        assertThat(own.pid())
                .as("the process of a holder in this one")
                .isEqualTo(ProcessHandle.current().pid());
        assertThat(other.host()).as("the host of both processes").isNotBlank().isEqualTo(own.host());
        assertThat(agent.release(there)).containsExactly(ReleaseOutcome.RELEASED);
        here.close();
    }

    private static Holder of(List<Holder> shown, int slot) {
        return shown.stream()
                .filter(holder -> holder.slot() == slot)
                .findFirst()
                .orElseThrow(() -> new AssertionError("the holder of slot " + slot + " is not shown: " + shown));
    }

    /** Changing a semaphore is several steps on most backends, and whoever asks meanwhile meets each of them. */
    @Test
    @Rule({"8.13", "8.15", "1.3"})
    void destroyedAndCreatedAgainAllTheTimeASlotHasOneHolder(TckFixture tck) {
        String name = tck.create(1);
        Workload workload = Workload.of(1, 4, tck.seed())
                .withRounds(Integer.MAX_VALUE, tck.rounds(20_000, 4_000))
                .withTimes(300, 5)
                .untilHeld(1)
                .withFailures();
        List<CompletableFuture<History>> there =
                List.of(tck.agent().contend(name, workload, "a"), tck.agent().contend(name, workload, "b"));
        int times = 0;
        while (!there.stream().allMatch(CompletableFuture::isDone)) {
            try {
                tck.home().admin().destroy(name);
                assertThat(tck.home().admin().create(name, 1))
                        .as("create after destroy created it")
                        .isTrue();
                times++;
            } catch (BackendUnavailableException | OutcomeUnknownException e) {
                // Others changed it all the time until the time of the call was over.
            }
            Pause.millis(tck.random().nextInt(2));
        }
        if (times < 3) {
            throw new FaultMissedException("it was destroyed and created again " + times + " times only");
        }
        // That one held more than one permit is found in the history of both.
        if (there.stream().anyMatch(history -> HistoryChecks.mostHeld(history.join()) == 0)) {
            throw new FaultMissedException("one of two processes never held the slot, so only the other was tried");
        }
        History all = there.get(0).join().with(there.get(1).join());
        List<Violation> violations = HistoryChecks.violationsButRefusals(all, tck.has(Capability.DURABLE_FENCING));
        tck.assertNone("destroyed and created again " + times + " times,", "created again", all, List.of(), violations);
        tck.home().admin().ensure(name, 1);
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("2.3")
    void aProcessThatClosesInOrderLetsAWaiterInAtOnce(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Agent agent = tck.agent();
        agent.take(name);
        CompletableFuture<Permit> waiter = tck.home().semaphore(name).acquireAsync();
        tck.proveNothing("the permit of another process is taken", () -> !waiter.isDone());
        agent.closeClient();
        tck.await("the permit of a closed client is free", tck.guarantees().wakeUpBound(), waiter::isDone);
        waiter.get().release();
    }

    /** Something that is done to a semaphore of one slot while one holds that, by its own client and by another one. */
    @FunctionalInterface
    private interface Deed {
        void run(SemaphoreClient holder, SemaphoreClient other, String name) throws Exception;
    }

    private static Map<String, Deed> deeds(TckFixture tck) {
        Map<String, Deed> deeds = new LinkedHashMap<>();
        deeds.put("nothing", (holder, other, name) -> {});
        deeds.put("descriptions", (holder, other, name) -> {
            holder.admin().describe(name);
            other.admin().describe(name);
        });
        deeds.put("looks at the status", (holder, other, name) -> {
            holder.admin().status(name);
            other.admin().status(name);
        });
        deeds.put("looks at what is free", (holder, other, name) -> {
            holder.semaphore(name).availablePermits();
            other.semaphore(name).availablePermits();
        });
        deeds.put("waits for retired holders", (holder, other, name) -> {
            holder.admin().awaitReleased(name, Duration.ZERO);
            other.admin().awaitReleased(name, Duration.ZERO);
        });
        deeds.put("refused attempts", (holder, other, name) -> {
            assertThat(holder.semaphore(name).tryAcquire()).isEmpty();
            assertThat(other.semaphore(name).tryAcquire()).isEmpty();
        });
        deeds.put("waits that time out", (holder, other, name) -> {
            assertThat(holder.semaphore(name).tryAcquire(SHORTLY)).isEmpty();
            assertThat(other.semaphore(name).tryAcquire(SHORTLY)).isEmpty();
        });
        deeds.put("a client that comes and goes", (holder, other, name) -> {
            try (SemaphoreClient guest = tck.client()) {
                guest.admin().describe(name);
                assertThat(guest.semaphore(name).tryAcquire()).isEmpty();
            }
        });
        deeds.put("a second create", (holder, other, name) -> {
            holder.admin().create(name, 1);
            other.admin().ensure(name, 1);
        });
        deeds.put("growing and shrinking", (holder, other, name) -> {
            other.admin().resize(name, 2);
            holder.semaphore(name).acquire(tck.patience()).release();
            holder.admin().resize(name, 1);
        });
        deeds.put("destroying and creating", (holder, other, name) -> {
            other.admin().destroy(name);
            other.admin().create(name, 1);
        });
        deeds.put("destroying and creating by the holder's client", (holder, other, name) -> {
            holder.admin().destroy(name);
            holder.admin().create(name, 1);
        });
        return deeds;
    }

    @Test
    @Rule({"8.15", "9.3"})
    void whateverIsDoneToAHeldSlotLetsNobodyInNowOrLater(TckFixture tck) throws Exception {
        SemaphoreClient other = tck.client();
        long since = System.nanoTime();
        Map<String, Permit> held = new LinkedHashMap<>();
        for (Map.Entry<String, Deed> deed : deeds(tck).entrySet()) {
            String name = tck.create(1);
            held.put(
                    "after " + deed.getKey(),
                    tck.take(tck.home().semaphore(name), 1).get(0));
            deed.getValue().run(tck.home(), other, name);
        }
        if (tck.harness().link().isPresent()) {
            Route route = tck.route();
            Permit permit = tck.take(route.client().semaphore(tck.create(1)), 1).get(0);
            route.proxy().cut(Ending.RESET);
            held.put("after a cut", permit);
        }
        String read = tck.create(1);
        tck.take(tck.home().semaphore(read), 1).get(0).release();
        tck.harness().state().ifPresent(state -> state.readStored(read));
        held.put(
                "after what is stored was read before the grant",
                tck.take(tck.home().semaphore(read), 1).get(0));
        String destroyed = tck.create(1);
        Permit retired = tck.take(tck.home().semaphore(destroyed), 1).get(0);
        other.admin().destroy(destroyed);
        Outsider.assertRefused(tck, held, since, Set.of("after a cut"));
        assertThat(retired.verify())
                .as("the permit of a semaphore that was destroyed some time ago")
                .isEqualTo(Verification.RETIRED);
        other.admin().create(destroyed, 1);
        assertThat(other.semaphore(destroyed).tryAcquire())
                .as("the slot that was held before the semaphore was destroyed, some time ago")
                .isEmpty();
        retired.release();
        tck.assertFree(destroyed, 1);
    }

    @Test
    @Rule("16.1")
    void aProcessThatForgetsToCloseEnds(TckFixture tck) throws Exception {
        String name = tck.create(2);
        Agent agent = tck.agent();
        agent.take(name);
        CompletableFuture<?> waiting = agent.acquiring(name, 2, tck.patience());
        tck.proveNothing("the waiter over there waits", () -> !waiting.isDone());
        assertThat(agent.forgetAndEnd(tck.patience()))
                .as("exit status of a process whose main method returned without closing the client")
                .isZero();
        if (tck.has(Capability.CRASH_RELEASE)) {
            SemaphoreClient fresh = tck.client();
            fresh.semaphore(name)
                    .acquire(
                            2,
                            tck.scaled(tck.guarantees().detectionMax())
                                    .plus(tck.guarantees().callBound()))
                    .release();
        }
    }
}
