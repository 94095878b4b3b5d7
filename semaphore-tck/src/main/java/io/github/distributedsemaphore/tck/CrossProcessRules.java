package io.github.distributedsemaphore.tck;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.agent.AgentPermits;
import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.Workload;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Rules of sections 1, 2 and 16 that take more than one process. */
@Section
public abstract class CrossProcessRules {
    /** For subclasses. */
    protected CrossProcessRules() {}

    @Test
    @Rule({"1.3", "7.1"})
    void processesTogetherHoldNoMoreThanTheLimit(TckFixture tck) throws Exception {
        int limit = 3;
        String name = tck.create(limit);
        Agent one = tck.agent();
        Agent other = tck.agent();
        Workload workload = Workload.of(limit, 4, tck.seed()).withLargest(2).withRounds(tck.rounds(5_000, 400), 4_000);
        CompletableFuture<History> first = one.contend(name, workload, "a");
        CompletableFuture<History> second = other.contend(name, workload, "b");
        History here = workload.run(List.of(tck.client().semaphore(name)), tck.recorder("c"));
        History all = here.with(first.get()).with(second.get());
        tck.judge(all);
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
    @Rule("2.1")
    void aReleaseWakesAWaiterOfAnotherProcess(TckFixture tck) {
        String name = tck.create(1);
        Agent agent = tck.agent();
        Permit held = tck.take(tck.home().semaphore(name), 1).get(0);
        for (int unused : tck.repeat(20, Duration.ofSeconds(3))) {
            CompletableFuture<java.util.Optional<AgentPermits>> waiting = agent.acquiring(name, 1, tck.patience());
            Pause.millis(20 + tck.random().nextInt(30));
            assertThat(waiting).as("a waiter while the permit is held").isNotDone();
            long released = System.nanoTime();
            held.release();
            AgentPermits there = waiting.join().orElseThrow();
            tck.assertWithin(Bound.WAKE_UP, tck.guarantees().wakeUpBound(), there.returned() - released);
            agent.release(there);
            held = tck.take(tck.home().semaphore(name), 1).get(0);
        }
        held.release();
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
