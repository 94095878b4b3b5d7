package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.watch.LongHolds;
import io.github.distributedsemaphore.tck.watch.Waiters;
import io.github.distributedsemaphore.tck.watch.WaitingCalls;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Section 3: a client that is closed, or stops acquiring, ends the calls that wait. */
@Section
public abstract class ClosingRules {
    /** For subclasses. */
    protected ClosingRules() {}

    @Test
    @Rule("3.7")
    void closingAClientEndsItsWaitersAndReturnsItsPermits(TckFixture tck) throws Exception {
        String name = tck.create(2);
        SemaphoreClient leaving = tck.client();
        DistributedSemaphore semaphore = leaving.semaphore(name);
        List<Permit> held = tck.take(semaphore, 2);
        Task<Permit> endless = tck.spawn("endless waiter", () -> semaphore.acquire());
        Task<PermitGroup> several = tck.spawn("waiter for two", () -> semaphore.acquire(2));
        Task<Permit> timed =
                tck.spawn("timed waiter", () -> semaphore.acquire(tck.patience().multipliedBy(2)));
        List.of(endless, several, timed).forEach(Task::awaitBlocked);
        CompletableFuture<Permit> future = semaphore.acquireAsync();
        long since = System.nanoTime();
        leaving.close();
        for (Task<?> waiter : List.of(endless, several, timed)) {
            tck.await(
                    "closing a client ends its waiters",
                    tck.guarantees().callBound().multipliedBy(5),
                    waiter::isDone);
            waiter.failure(SemaphoreClosedException.class);
        }
        tck.assertWithin(Bound.OPERATION, tck.guarantees().callBound().multipliedBy(5), since, timed.endedAt());
        assertThatThrownBy(() -> Waiters.joined(future, tck.patience()), "a pending future of a closed client")
                .isInstanceOf(SemaphoreClosedException.class);
        assertThatThrownBy(semaphore::tryAcquire, "an attempt after close")
                .isInstanceOf(SemaphoreClosedException.class);
        assertThat(held).as("permits after their client was closed").noneMatch(Permit::isValid);
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("3.7")
    void closingAClientEndsEveryCallThatWaits(TckFixture tck) {
        endsEveryCallThatWaits(tck, tck.client(), SemaphoreClient::close);
    }

    /** As if the process had died, and its threads live. */
    @Test
    @Rule({"3.7", "6.4"})
    void abortingAClientEndsEveryCallThatWaitsAndTellsOfEachLoss(TckFixture tck) {
        SemaphoreClient leaving = tck.client();
        Queue<PermitLoss> losses = new ConcurrentLinkedQueue<>();
        List<String> names = List.of(tck.create(1), tck.create(1));
        long since = System.nanoTime();
        Duration validity = Duration.ZERO;
        for (String name : names) {
            Permit permit = tck.take(leaving.semaphore(name), 1).get(0);
            validity = tck.validity(permit.validUntil());
            permit.onLost(losses::add);
        }
        endsEveryCallThatWaits(tck, leaving, SemaphoreClient::abort);
        tck.await("both losses are reported", () -> losses.size() >= 2);
        if (losses.stream().anyMatch(loss -> loss.cause() != LossCause.CLIENT_ABORTED)) {
            tck.abortIfStoodStill(validity, since);
        }
        assertThat(losses)
                .as("the losses of a client that was aborted")
                .allMatch(loss -> loss.cause() == LossCause.CLIENT_ABORTED)
                .extracting(PermitLoss::semaphoreName)
                .containsExactlyInAnyOrderElementsOf(names);
    }

    private static void endsEveryCallThatWaits(TckFixture tck, SemaphoreClient leaving, Consumer<SemaphoreClient> end) {
        String name = tck.create(3);
        List<Permit> held = tck.take(tck.client(Waiters.lasting(tck)).semaphore(name), 3);
        tck.home().admin().resize(name, 2);
        DistributedSemaphore semaphore = leaving.semaphore(name);
        Duration longer = tck.patience().multipliedBy(2);
        Map<WaitingCalls.Call, Task<?>> waiters = new LinkedHashMap<>();
        for (WaitingCalls.Call call :
                WaitingCalls.waitingFor(WaitingCalls.For.A_PERMIT, WaitingCalls.For.A_RETIRED_HOLDER)) {
            waiters.put(call, tck.spawn(call.method(), () -> call.body().call(leaving, semaphore, longer)));
        }
        waiters.values().forEach(Task::awaitBlocked);
        end.accept(leaving);
        waiters.forEach((call, waiter) -> {
            tck.await("the end of a client ends " + call, tck.guarantees().callBound(), waiter::isDone);
            waiter.failure(SemaphoreClosedException.class);
        });
        assertThatThrownBy(semaphore::tryAcquire, "an attempt after the end of the client")
                .isInstanceOf(SemaphoreClosedException.class);
        assertThatThrownBy(
                        () -> Waiters.joined(semaphore.acquireAsync(), tck.patience()),
                        "a future after the end of the client")
                .isInstanceOf(SemaphoreClosedException.class);
        held.forEach(Permit::close);
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("3.7")
    void aClientThatStopsAcquiringEndsItsWaitersAndKeepsItsPermits(TckFixture tck) throws Exception {
        String name = tck.create(1);
        SemaphoreClient leaving = tck.client();
        DistributedSemaphore semaphore = leaving.semaphore(name);
        Permit held = semaphore.acquire(tck.patience());
        Task<Permit> waiter = tck.spawn("endless waiter", () -> semaphore.acquire());
        waiter.awaitBlocked();
        CompletableFuture<Permit> future = semaphore.acquireAsync();
        leaving.stopAcquiring();
        tck.await(
                "a client that stops acquiring ends its waiters",
                tck.guarantees().callBound(),
                waiter::isDone);
        waiter.failure(SemaphoreClosedException.class);
        assertThatThrownBy(
                        () -> Waiters.joined(future, tck.patience()),
                        "a pending future of a client that stopped acquiring")
                .isInstanceOf(SemaphoreClosedException.class);
        assertThat(held.verify())
                .as("a permit of a client that stopped acquiring")
                .isEqualTo(Verification.HELD);
        held.release();
        for (DistributedSemaphore any : List.of(semaphore, leaving.semaphore(tck.create(1)))) {
            assertThatThrownBy(any::tryAcquire, "an attempt after the client stopped acquiring")
                    .isInstanceOf(SemaphoreClosedException.class);
            assertThatThrownBy(
                            () -> Waiters.joined(any.acquireAsync(), tck.patience()),
                            "a new future after the client stopped acquiring")
                    .isInstanceOf(SemaphoreClosedException.class);
        }
        tck.assertFree(name, 1);
    }

    /** Somebody may wait for what a client does after its close. */
    @Test
    @Rule({"10.4", "3.7"})
    void whatIsAskedOfAClosedClientCompletes(TckFixture tck) throws Exception {
        String name = tck.create(2);
        SemaphoreClient leaving = tck.client();
        DistributedSemaphore semaphore = leaving.semaphore(name);
        Permit held = semaphore.acquire(tck.patience());
        CompletableFuture<String> work = new CompletableFuture<>();
        CountDownLatch begun = new CountDownLatch(1);
        CompletableFuture<String> task = semaphore.withPermitAsync(tck.patience(), permit -> {
            begun.countDown();
            return work;
        });
        tck.await("an asynchronous task begins", () -> begun.getCount() == 0);
        leaving.close();
        work.complete("done");
        assertThat(Waiters.joined(task, tck.patience()))
                .as("what a task says that ended after its client was closed")
                .isEqualTo("done");
        CompletableFuture<ReleaseOutcome> release = held.releaseAsync();
        tck.await("releaseAsync() of a closed client completes", release::isDone);
        CompletableFuture<Permit> late = semaphore.acquireAsync();
        assertThatThrownBy(() -> Waiters.joined(late, tck.patience()), "a future that is asked for after close")
                .isInstanceOf(SemaphoreClosedException.class);
        tck.assertFree(name, 2);
    }

    /** Its shutdown goes on: what is held is renewed until it is released, and the rest goes back with the close. */
    @Test
    @Rule({"3.7", "2.3"})
    void aClientThatStoppedAcquiringRenewsItsPermitsAndReturnsThemWhenItIsClosed(TckFixture tck) {
        String name = tck.create(3);
        SemaphoreClient leaving = tck.client();
        DistributedSemaphore semaphore = leaving.semaphore(name);
        long since = System.nanoTime();
        List<Permit> held = tck.take(semaphore, 3);
        Duration validity = tck.validity(held.get(0).validUntil());
        leaving.stopAcquiring();
        if (tck.has(Capability.LEASE) && LongHolds.hasTimeForALease(tck)) {
            tck.await(
                    "a client that stopped acquiring renews its permits",
                    tck.guarantees().detectionMax(),
                    () -> semaphore.statistics().renewals() > 0);
        }
        tck.abortIfStoodStill(validity, since);
        assertThat(held.get(0).release())
                .as("a release by a client that stopped acquiring")
                .isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(semaphore.availablePermits())
                .as("free permits, as a client sees them that stopped acquiring")
                .isEqualTo(1);
        leaving.close();
        assertThat(tck.home().semaphore(name).tryAcquire(3))
                .as("all permits of a client that stopped acquiring are free when its close returned")
                .isPresent();
    }
}
