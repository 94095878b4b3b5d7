package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Race;
import io.github.distributedsemaphore.tck.watch.Waiters;
import io.github.distributedsemaphore.tck.watch.WaitingCalls;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;

/** Section 3, and 4.9: interrupts. */
@Section
public abstract class InterruptRules {
    /** For subclasses. */
    protected InterruptRules() {}

    /** Calls for permits of a full semaphore, and for the release of its slot that was removed. */
    private static final WaitingCalls.For[] OF_HOLDERS = {WaitingCalls.For.A_PERMIT, WaitingCalls.For.A_RETIRED_HOLDER};

    /** A call waits first for an answer, then for a permit, then between two questions: an interrupt finds it in each of them. */
    private static final int[] MOMENTS_MILLIS = {0, 20, 100};

    /** How many permits a client takes by its first try, and how long that may take. */
    private static final int GROUP = 4;

    private static final int LATEST_MILLIS = 30;

    /** Takes all permits of a semaphore of three, and shrinks it to two. */
    private static List<Permit> full(TckFixture tck, String name) {
        List<Permit> held = tck.take(tck.client().semaphore(name), 3);
        tck.home().admin().resize(name, 2);
        return held;
    }

    private static List<WaitingCalls.Call> blocking(WaitingCalls.For... what) {
        return WaitingCalls.waitingFor(what).stream()
                .filter(WaitingCalls.Call::isBlocking)
                .toList();
    }

    @Test
    @Rule("3.4")
    void anInterruptDuringTheWaitEndsItAndTakesNothing(TckFixture tck) throws Exception {
        String name = tck.create(3);
        List<Permit> held = full(tck, name);
        // What the kit loads for its look is not to be a part of the time.
        assertThatThrownBy(() -> {
                    throw new InterruptedException();
                })
                .isInstanceOf(InterruptedException.class);
        for (WaitingCalls.Call call : blocking(OF_HOLDERS)) {
            for (int millis : MOMENTS_MILLIS) {
                tck.inTime(() -> endsInTime(tck, call, name, millis));
            }
        }
        held.forEach(Permit::close);
        tck.assertFree(name, 2);
    }

    private static void endsInTime(TckFixture tck, WaitingCalls.Call call, String name, int millis) {
        Task<Boolean> waiter = interrupted(tck, call, name, false, longer(tck));
        waiter.awaitBlocked();
        Pause.millis(millis == 0 ? 0 : millis + tck.random().nextInt(millis));
        long since = System.nanoTime();
        waiter.interrupt();
        tck.await("an interrupt ends " + call, tck.guarantees().callBound(), waiter::isDone);
        assertFlag(call, waiter);
        tck.assertWithin(Bound.OPERATION, TckFixture.MOST_LATE, since, waiter.endedAt());
    }

    @Test
    @Rule("3.4")
    void anInterruptBeforeTheWaitTakesNothing(TckFixture tck) throws Exception {
        String free = tck.create(2);
        String full = tck.create(3);
        List<Permit> held = full(tck, full);
        for (WaitingCalls.Call call : blocking(WaitingCalls.For.values())) {
            assertFlag(call, interrupted(tck, call, free, true, longer(tck)));
            assertFlag(call, interrupted(tck, call, full, true, longer(tck)));
            if (call.isLimited() && call.what() == WaitingCalls.For.A_PERMIT) {
                assertFlag(call, interrupted(tck, call, free, true, Duration.ZERO));
            }
        }
        held.forEach(Permit::close);
        tck.assertFree(free, 2);
        tck.assertFree(full, 2);
    }

    /** Makes a call on a thread that is, or will be, interrupted; returns whether the flag is there afterwards. */
    private static Task<Boolean> interrupted(
            TckFixture tck, WaitingCalls.Call call, String name, boolean before, Duration time) {
        return tck.spawn(call.method(), () -> {
            if (before) {
                Thread.currentThread().interrupt();
            }
            assertThatThrownBy(
                            () -> call.body().call(tck.home(), tck.home().semaphore(name), time),
                            "%s with a time of %s of a thread that %s interrupted",
                            call,
                            time,
                            before ? "was" : "is")
                    .isInstanceOf(InterruptedException.class);
            return Thread.currentThread().isInterrupted();
        });
    }

    private static Duration longer(TckFixture tck) {
        return tck.patience().multipliedBy(2);
    }

    private static void assertFlag(WaitingCalls.Call call, Task<Boolean> interrupted) {
        assertThat(interrupted.result())
                .as("the interrupt flag after the InterruptedException of %s", call)
                .isFalse();
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

    /** What a client makes for its first permits, sessions or connections, it may make on several threads. */
    @Test
    @Rule("3.5")
    void aClientsFirstTryIsDeafToAnInterruptAtAnyMoment(TckFixture tck) throws Exception {
        String name = tck.create(GROUP);
        tck.take(tck.client().semaphore(name), GROUP).forEach(Permit::close);
        for (int unused : tck.repeat(12, Duration.ofSeconds(4))) {
            DistributedSemaphore semaphore = tck.client().semaphore(name);
            Task<PermitGroup> first = tck.spawn("first try of a client", () -> {
                PermitGroup group =
                        semaphore.tryAcquire(GROUP).orElseThrow(() -> new AssertionError("a try when all are free"));
                assertThatThrownBy(() -> Thread.sleep(tck.patience().toMillis()), "a sleep of an interrupted thread")
                        .isInstanceOf(InterruptedException.class);
                return group;
            });
            Pause.millis(tck.random().nextInt(LATEST_MILLIS));
            first.interrupt();
            first.result().close();
            tck.assertFree(name, GROUP);
        }
    }

    /** Each on a client that has no connection yet: an interrupt must not keep it from making one. */
    @Test
    @Rule("3.5")
    void callsThatDoNotWaitDoTheirWorkForAnInterruptedThread(TckFixture tck) {
        String name = tck.create(2);
        Permit held = tck.take(tck.home().semaphore(name), 1).get(0);
        Map<String, Function<SemaphoreClient, Object>> calls = new LinkedHashMap<>();
        calls.put("availablePermits()", client -> client.semaphore(name).availablePermits());
        calls.put("status()", client -> client.admin().status(name).orElseThrow());
        calls.put("describe()", client -> client.admin().describe(name).orElseThrow());
        if (tck.has(Capability.LISTING)) {
            calls.put("names()", client -> client.admin().names());
        }
        calls.put("create()", client -> client.admin().create(name, 2));
        calls.put("ensure()", client -> client.admin().ensure(name, 3));
        calls.put("resize()", client -> {
            client.admin().resize(name, 4);
            return client.admin().describe(name).orElseThrow().limit();
        });
        calls.put("verify()", client -> held.verify());
        calls.put("destroy()", client -> client.admin().destroy(name));
        Map<String, Object> found = new LinkedHashMap<>();
        calls.forEach((method, call) -> {
            SemaphoreClient client = tck.client();
            Task<Object> interrupted = tck.spawn(method + " of an interrupted thread", () -> {
                Thread.currentThread().interrupt();
                Object result = call.apply(client);
                assertThat(Thread.currentThread().isInterrupted())
                        .as("the interrupt flag after %s", method)
                        .isTrue();
                return result;
            });
            found.put(method, interrupted.result());
        });
        assertThat(found)
                .as("what calls found or did for an interrupted thread")
                .containsEntry("availablePermits()", 1)
                .containsEntry("create()", false)
                .containsEntry("resize()", 4)
                .containsEntry("verify()", Verification.HELD)
                .containsEntry("destroy()", true);
        held.release();
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
                        held.add(Waiters.soon(
                                tck,
                                semaphore,
                                "an interrupt that raced the grant swallowed the permit, before race " + round));
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
