package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Section 11: the order in which the waiters of one client are served; for that between clients see {@link ArrivalRules}. */
@Section
public abstract class FairnessRules {
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
        String name = tck.create(3);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
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
}
