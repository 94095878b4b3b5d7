package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.agent.AgentPermits;
import io.github.distributedsemaphore.tck.fixture.Route;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.FaultMissedException;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Section 2: a release wakes those that wait in other processes, and those of which an answer was lost. */
@Section
public abstract class WakeUpRules {
    /** A client whose link is whole again has what it needs after this time. */
    private static final Duration BACK_AFTER_A_CUT = Duration.ofMillis(1_500);

    /** So many answers, one after the other, are lost for a client that begins to wait. */
    private static final int ANSWERS = 6;

    /** For subclasses. */
    protected WakeUpRules() {}

    @Test
    @Rule("2.1")
    void aReleaseWakesAWaiterOfAnotherProcess(TckFixture tck) {
        String name = tck.create(1);
        DistributedSemaphore here = tck.client(Waiters.hinted(tck)).semaphore(name);
        Agent agent = tck.agent(Waiters.hinted(tck));
        warm(tck, agent, here);
        Permit held = tck.take(here, 1).get(0);
        for (int unused : tck.repeat(20, Duration.ofSeconds(3))) {
            CompletableFuture<Optional<AgentPermits>> waiting = agent.acquiring(name, 1, tck.patience());
            Pause.millis(20 + tck.random().nextInt(30));
            assertThat(waiting).as("a waiter while the permit is held").isNotDone();
            long released = System.nanoTime();
            held.release();
            AgentPermits there = waiting.join().orElseThrow();
            assertWoken(tck, agent, released, there);
            agent.release(there);
            held = tck.take(here, 1).get(0);
        }
        held.release();
    }

    /** Of several waiting processes one may look often; the others depend on hints. */
    @Test
    @Rule("2.1")
    void eachReleaseReachesTheWaitersOfEachProcess(TckFixture tck) {
        String name = tck.create(1);
        DistributedSemaphore here = tck.client(Waiters.hinted(tck)).semaphore(name);
        List<Agent> agents = hintedAgents(tck, here);
        for (int unused : tck.repeat(12, Duration.ofSeconds(4))) {
            Permit held = tck.take(here, 1).get(0);
            passOn(tck, held, agents, waiting(tck, name, agents));
        }
    }

    /** The sessions of a process outlast the semaphore that it waited for. */
    @Test
    @Rule({"2.1", "8.14", "8.15"})
    void whoWaitedBeforeItWasCreatedAgainIsWokenByReleases(TckFixture tck) {
        String name = tck.create(1);
        DistributedSemaphore here = tck.client(Waiters.hinted(tck)).semaphore(name);
        List<Agent> agents = hintedAgents(tck, here);
        for (int unused : tck.repeat(4, Duration.ofSeconds(4))) {
            Permit held = tck.take(here, 1).get(0);
            List<CompletableFuture<Optional<AgentPermits>>> before = waiting(tck, name, agents);
            tck.home().admin().destroy(name);
            tck.await(
                    "a destroy ends the waiters of each process",
                    tck.patience(),
                    () -> before.stream().allMatch(CompletableFuture::isCompletedExceptionally));
            before.forEach(waiter -> assertThatThrownBy(waiter::join, "a waiter of a destroyed semaphore")
                    .hasMessageContaining(NoSuchSemaphoreException.class.getName()));
            held.release();
            tck.home().admin().create(name, 1);
            passOn(tck, tck.take(here, 1).get(0), agents, waiting(tck, name, agents));
        }
    }

    /** A resize changes what is stored. Processes that wait learn of it, and of each release after it. */
    @Test
    @Rule({"2.1", "8.5"})
    void processesThatWaitThroughAResizeAreWokenByReleases(TckFixture tck) {
        String name = tck.create(1);
        DistributedSemaphore here = tck.client(Waiters.hinted(tck)).semaphore(name);
        List<Agent> agents = hintedAgents(tck, here);
        for (int unused : tck.repeat(6, Duration.ofSeconds(4))) {
            Permit held = tck.take(here, 1).get(0);
            List<CompletableFuture<Optional<AgentPermits>>> waiting = waiting(tck, name, agents);
            tck.home().admin().resize(name, 2);
            passOn(tck, System.nanoTime(), agents, waiting);
            held.release();
            tck.home().admin().resize(name, 1);
        }
    }

    private static List<CompletableFuture<Optional<AgentPermits>>> waiting(
            TckFixture tck, String name, List<Agent> agents) {
        List<CompletableFuture<Optional<AgentPermits>>> waiting = new ArrayList<>();
        for (Agent agent : agents) {
            waiting.add(agent.acquiring(name, 1, tck.patience()));
        }
        Pause.millis(60 + tck.random().nextInt(30));
        return waiting;
    }

    /** Has the permit go from here to each of two processes, and back to nobody. */
    private static void passOn(
            TckFixture tck, Permit held, List<Agent> agents, List<CompletableFuture<Optional<AgentPermits>>> waiting) {
        long released = System.nanoTime();
        held.release();
        passOn(tck, released, agents, waiting);
    }

    /** The same with a permit that has just become free. */
    private static void passOn(
            TckFixture tck, long free, List<Agent> agents, List<CompletableFuture<Optional<AgentPermits>>> waiting) {
        long released = free;
        int first = first(tck, waiting);
        for (int i : List.of(first, 1 - first)) {
            AgentPermits there = served(tck, agents.get(i), waiting.get(i), released);
            Pause.millis(20);
            released = System.nanoTime();
            agents.get(i).release(there);
        }
    }

    private static List<Agent> hintedAgents(TckFixture tck, DistributedSemaphore here) {
        List<Agent> agents = List.of(tck.agent(Waiters.hinted(tck)), tck.agent(Waiters.hinted(tck)));
        agents.forEach(agent -> warm(tck, agent, here));
        return agents;
    }

    /** Has the agent connect, and load what waiting takes: on a busy machine that alone may take longer than a wake-up. */
    private static void warm(TckFixture tck, Agent agent, DistributedSemaphore here) {
        agent.watchTime();
        agent.release(agent.take(here.name()));
        Permit held = tck.take(here, 1).get(0);
        assertThat(agent.acquire(here.name(), 1, tck.quiet())).isEmpty();
        held.release();
    }

    private static int first(TckFixture tck, List<CompletableFuture<Optional<AgentPermits>>> waiting) {
        tck.await(
                "a release reaches one of two waiting processes whose own timers are far away",
                tck.patience(),
                () -> waiting.stream().anyMatch(CompletableFuture::isDone));
        return waiting.get(0).isDone() ? 0 : 1;
    }

    private static AgentPermits served(
            TckFixture tck, Agent agent, CompletableFuture<Optional<AgentPermits>> waiting, long released) {
        AgentPermits there = waiting.join()
                .orElseThrow(
                        () -> new AssertionError("a release reaches no waiting process whose own timer is far away"));
        // A resize may return after a waiter has its permit.
        assertWoken(tck, agent, Math.min(released, there.returned()), there);
        return there;
    }

    /** How long the other process stood still does not count, as it does not here. */
    private static void assertWoken(TckFixture tck, Agent agent, long released, AgentPermits there) {
        long stoodStill = agent.stoodStill(released, there.returned());
        tck.assertWithin(Bound.WAKE_UP, tck.guarantees().wakeUpBound(), released, there.returned(), stoodStill);
    }

    /** What a client asks for when it first waits may fail, and it asks for it again. */
    @Test
    @Rule({"2.1", "13.2"})
    void aClientThatLosesAnAnswerWhenItFirstWaitsHearsOfReleases(TckFixture tck) throws Exception {
        SemaphoreClient holding = tck.client(Waiters.hinted(tck));
        List<LosingWaiter> waiters = new ArrayList<>();
        for (int number = 1; number <= ANSWERS; number++) {
            waiters.add(new LosingWaiter(tck, holding, number));
        }
        waiters.forEach(LosingWaiter::begin);
        Pause.millis(tck.scaled(BACK_AFTER_A_CUT).toMillis());
        waiters.forEach(waiter -> waiter.fault.heal());
        if (waiters.get(0).fault.strikes() == 0) {
            throw new FaultMissedException("no answer to a client that begins to wait was lost");
        }
        int served = 0;
        for (LosingWaiter waiter : waiters) {
            served += waiter.isServed(tck) ? 1 : 0;
        }
        if (served == 0) {
            throw new FaultMissedException("none of " + ANSWERS + " clients was left waiting, each of which was to lose"
                    + " one answer when it began to wait");
        }
    }

    /** A client that begins to wait at a semaphore of its own, and loses one answer. */
    private static final class LosingWaiter {
        private final Permit held;
        private final DistributedSemaphore semaphore;
        private final int number;
        private final LinkFault fault;
        private CompletableFuture<Permit> future = new CompletableFuture<>();

        LosingWaiter(TckFixture tck, SemaphoreClient holding, int number) {
            String name = tck.create(1);
            this.number = number;
            this.held = tck.take(holding.semaphore(name), 1).get(0);
            Route route = tck.route();
            SemaphoreClient client = route.client(Waiters.hinted(tck));
            // Several connect at once, which on a busy machine may take longer than a request may.
            Observer.assertAnswers(tck, client, name);
            this.semaphore = client.semaphore(name);
            assertThat(semaphore.tryAcquire()).isEmpty();
            this.fault = route.proxy().loseAnswer(number, Ending.RESET);
        }

        void begin() {
            future = semaphore.acquireAsync(Duration.ofHours(1));
        }

        /** Shows that a release reaches it. Returns false if its call has failed before, as it may when an answer is lost. */
        boolean isServed(TckFixture tck) throws Exception {
            if (future.isCompletedExceptionally()) {
                assertThatThrownBy(future::get, "a call of which answer %s was lost (%s)", number, fault)
                        .cause()
                        .isInstanceOfAny(BackendUnavailableException.class, OutcomeUnknownException.class);
                held.release();
                return false;
            }
            assertThat(future)
                    .as("a wait for what is held, of which an answer was lost")
                    .isNotDone();
            held.release();
            tck.await(
                    "a release reaches a client for which answer " + number + " was lost when it began to wait ("
                            + fault + ")",
                    BACK_AFTER_A_CUT.plus(tck.guarantees().wakeUpBound()),
                    future::isDone);
            future.get().release();
            tck.assertFree(semaphore.name(), 1);
            return true;
        }
    }

    /** What became of a release is found out later, and by then somebody may wait of whom the releaser does not know. */
    @Test
    @Rule({"2.1", "4.6"})
    void aReleaseWhoseAnswerIsLostReachesWhoWaits(TckFixture tck) throws Exception {
        String name = tck.create(1);
        Route route = tck.route();
        DistributedSemaphore holding = route.client(Waiters.lasting(tck)).semaphore(name);
        DistributedSemaphore waiting = tck.client(Waiters.hinted(tck)).semaphore(name);
        Permit held = tck.take(holding, 1).get(0);
        assertThat(waiting.tryAcquire()).isEmpty();
        CompletableFuture<Permit> waiter = waiting.acquireAsync();
        tck.proveNothing("one waits for what is held", () -> !waiter.isDone());
        LinkFault fault = route.proxy().loseAnswer(1, Ending.RESET);
        Attempt<ReleaseOutcome> release =
                Attempt.of(tck, "release", held::release).ended();
        fault.close();
        if (release.failed() || release.value() != ReleaseOutcome.RELEASED) {
            // It was no orderly release, and only the end of a lease is promised.
            waiter.cancel(true);
            return;
        }
        tck.await(
                "a release whose answer was lost reaches who waits (" + release + ")",
                BACK_AFTER_A_CUT.plus(tck.guarantees().wakeUpBound()),
                waiter::isDone);
        waiter.get().release();
        tck.assertFree(name, 1);
    }
}
