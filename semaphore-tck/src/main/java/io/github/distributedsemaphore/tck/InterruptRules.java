package io.github.distributedsemaphore.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreAdmin;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

/** Section 3, and 4.9: interrupts. */
@Section
public abstract class InterruptRules {
    /** For subclasses. */
    protected InterruptRules() {}

    private static Map<String, Callable<?>> waits(TckFixture tck, DistributedSemaphore semaphore) {
        Duration longer = tck.patience().multipliedBy(2);
        Map<String, Callable<?>> waits = new LinkedHashMap<>();
        waits.put("acquire()", semaphore::acquire);
        waits.put("acquire(maxWait)", () -> semaphore.acquire(longer));
        waits.put("tryAcquire(maxWait)", () -> semaphore.tryAcquire(longer));
        waits.put("acquire(permits)", () -> semaphore.acquire(2));
        waits.put("acquire(permits, maxWait)", () -> semaphore.acquire(2, longer));
        waits.put("tryAcquire(permits, maxWait)", () -> semaphore.tryAcquire(2, longer));
        waits.put("withPermit(maxWait, task)", () -> semaphore.withPermit(longer, permit -> permit.slot()));
        return waits;
    }

    @Test
    @Rule("3.4")
    void anInterruptDuringTheWaitEndsItAndTakesNothing(TckFixture tck) throws Exception {
        String name = tck.create(2);
        List<Permit> held = tck.take(tck.client().semaphore(name), 2);
        for (Map.Entry<String, Callable<?>> wait :
                waits(tck, tck.home().semaphore(name)).entrySet()) {
            Task<Boolean> waiter = tck.spawn(wait.getKey(), () -> {
                assertThatThrownBy(() -> wait.getValue().call(), "an interrupted %s", wait.getKey())
                        .isInstanceOf(InterruptedException.class);
                return Thread.currentThread().isInterrupted();
            });
            waiter.awaitBlocked();
            long since = System.nanoTime();
            waiter.interrupt();
            tck.await("an interrupt ends " + wait.getKey(), tck.guarantees().callBound(), waiter::isDone);
            tck.assertWithin(Bound.OPERATION, tck.guarantees().callBound(), waiter.endedAt() - since);
            assertThat(waiter.result())
                    .as("the interrupt flag after the InterruptedException of %s", wait.getKey())
                    .isFalse();
        }
        held.forEach(Permit::close);
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("3.4")
    void anInterruptBeforeTheWaitTakesNothing(TckFixture tck) throws Exception {
        String name = tck.create(2);
        for (Map.Entry<String, Callable<?>> wait :
                waits(tck, tck.home().semaphore(name)).entrySet()) {
            Task<Boolean> waiter = tck.spawn(wait.getKey(), () -> {
                Thread.currentThread().interrupt();
                assertThatThrownBy(
                                () -> wait.getValue().call(),
                                "%s of an interrupted thread, with permits free",
                                wait.getKey())
                        .isInstanceOf(InterruptedException.class);
                return Thread.currentThread().isInterrupted();
            });
            assertThat(waiter.result())
                    .as("the interrupt flag after the InterruptedException of %s", wait.getKey())
                    .isFalse();
        }
        tck.assertFree(name, 2);
    }

    @Test
    @Rule("3.4")
    void anInterruptEndsTheWaitForRetiredHolders(TckFixture tck) throws Exception {
        String name = tck.create(2);
        List<Permit> held = tck.take(tck.client().semaphore(name), 2);
        SemaphoreAdmin admin = tck.home().admin();
        admin.resize(name, 1);
        Duration longer = tck.patience().multipliedBy(2);
        for (boolean before : new boolean[] {false, true}) {
            Task<Boolean> waiter = tck.spawn("awaitReleased", () -> {
                if (before) {
                    Thread.currentThread().interrupt();
                }
                assertThatThrownBy(() -> admin.awaitReleased(name, longer), "an interrupted awaitReleased")
                        .isInstanceOf(InterruptedException.class);
                return Thread.currentThread().isInterrupted();
            });
            if (!before) {
                waiter.awaitBlocked();
                waiter.interrupt();
            }
            tck.await("an interrupt ends awaitReleased", tck.guarantees().callBound(), waiter::isDone);
            assertThat(waiter.result())
                    .as("the interrupt flag after the InterruptedException of awaitReleased")
                    .isFalse();
        }
        held.forEach(Permit::close);
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("3.5")
    void aTryIsDeafToInterruptsAndKeepsTheFlag(TckFixture tck) throws Exception {
        DistributedSemaphore semaphore = tck.semaphore(1);
        Task<Boolean> interrupted = tck.spawn("interrupted try", () -> {
            Thread.currentThread().interrupt();
            Optional<Permit> permit = semaphore.tryAcquire();
            assertThat(permit)
                    .as("a try of an interrupted thread, with a permit free")
                    .isPresent();
            assertThat(semaphore.tryAcquire())
                    .as("a second permit of a limit of 1")
                    .isEmpty();
            permit.orElseThrow().release();
            return Thread.currentThread().isInterrupted();
        });
        assertThat(interrupted.result())
                .as("the interrupt flag after a try and a release")
                .isTrue();
        tck.assertFree(semaphore.name(), 1);
    }

    @Test
    @Rule("3.6")
    void anInterruptThatRacesTheGrantHasOneOutcome(TckFixture tck, TestReporter reporter) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        DistributedSemaphore other = tck.client().semaphore(name);
        Thread victim = Thread.currentThread();
        List<Permit> held = new CopyOnWriteArrayList<>();
        List<Permit> granted = new CopyOnWriteArrayList<>();
        try {
            Race.run(
                    tck,
                    reporter,
                    round -> {
                        granted.clear();
                        held.clear();
                        held.add(semaphore
                                .tryAcquire(tck.scaled(tck.guarantees().wakeUpBound()))
                                .orElseThrow(() -> new AssertionError(
                                        "an interrupt that raced the grant swallowed the permit, before race "
                                                + round)));
                    },
                    round -> {
                        try {
                            granted.add((round % 2 == 0 ? semaphore : other).acquire(tck.patience()));
                        } catch (InterruptedException e) {
                            // One of the two outcomes; the other is a permit.
                        }
                    },
                    round -> {
                        if (round / 2 % 2 == 0) {
                            held.get(0).release();
                            victim.interrupt();
                        } else {
                            victim.interrupt();
                            held.get(0).release();
                        }
                    },
                    round -> {
                        boolean late = Thread.interrupted();
                        for (Permit permit : granted) {
                            assertThat(late)
                                    .as("the interrupt flag of a thread that was interrupted and granted a permit")
                                    .isTrue();
                            permit.release();
                        }
                    });
        } finally {
            Thread.interrupted();
        }
        tck.assertFree(name, 1);
    }

    @Test
    @Rule("4.9")
    void anInterruptedThreadReleasesAndKeepsTheFlag(TckFixture tck) throws Exception {
        String name = tck.create(1);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        for (boolean byClose : new boolean[] {false, true}) {
            Permit permit = semaphore.acquire(tck.patience());
            Task<Boolean> interrupted = tck.spawn("interrupted release", () -> {
                Thread.currentThread().interrupt();
                if (byClose) {
                    permit.close();
                } else {
                    assertThat(permit.release())
                            .as("what a release by an interrupted thread found")
                            .isEqualTo(ReleaseOutcome.RELEASED);
                }
                return Thread.currentThread().isInterrupted();
            });
            assertThat(interrupted.result())
                    .as("the interrupt flag after a release")
                    .isTrue();
            tck.assertFree(name, 1);
        }
    }
}
