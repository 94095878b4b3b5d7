package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.run.TckTiming;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.Waiters;
import io.github.distributedsemaphore.tck.watch.WaitingCalls;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Calls that meet an {@link Outage} and end when their callers want it, because of a time-out, an interrupt or a close. What they
 * asked for goes back.
 */
final class CallersTime {
    private static final Duration LEAST_TIME = Duration.ofMillis(300);
    private static final Duration APART = Duration.ofMillis(20);

    private final TckFixture tck;

    CallersTime(TckFixture tck) {
        this.tck = tck;
    }

    /** The calls with a time-out. */
    private static List<WaitingCalls.Call> timed() {
        return WaitingCalls.all().stream().filter(WaitingCalls.Call::isLimited).toList();
    }

    /** The calls for permits that an interrupt ends. */
    private static List<WaitingCalls.Call> interruptible() {
        return WaitingCalls.waitingFor(WaitingCalls.For.A_PERMIT).stream()
                .filter(WaitingCalls.Call::isBlocking)
                .toList();
    }

    /** A client and a semaphore of it. */
    private record Caller(SemaphoreClient client, DistributedSemaphore semaphore) {
        @Nullable
        Object make(WaitingCalls.Call call, Duration time) throws Exception {
            return call.body().call(client, semaphore, time);
        }
    }

    /** Each call with a time-out, alone with a client of its own, all of them on one client, and one that waited before. */
    void timeOuts(Outage outage) {
        String free = outage.create(30);
        String full = outage.create(1);
        Permit held = tck.take(outage.observer().semaphore(full), 1).get(0);
        Map<WaitingCalls.Call, Caller> alone = new LinkedHashMap<>();
        timed().forEach(call -> alone.put(call, working(outage, free)));
        Caller crowd = working(outage, free);
        DistributedSemaphore before = outage.client(Outage.EAGER).semaphore(full);
        Duration early = tck.scaled(Duration.ofSeconds(2));
        TimedCall waiter = TimedCall.start(
                tck, "tryAcquire(maxWait) that waited before, " + outage, () -> before.tryAcquire(early));
        waiter.task().awaitBlocked();
        Map<TimedCall, Duration> calls = new LinkedHashMap<>();
        outage.during(() -> {
            calls.put(waiter, early);
            alone.forEach((call, own) -> {
                // One after the other: if all ended together, they would wait for the processors.
                Duration time = LEAST_TIME.plus(APART.multipliedBy(calls.size()));
                Duration later = time.plus(APART);
                calls.put(TimedCall.start(tck, call + " " + outage, () -> own.make(call, time)), time);
                calls.put(TimedCall.start(tck, call + " among others " + outage, () -> crowd.make(call, later)), later);
            });
            calls.forEach((call, time) -> assertNothing(call, call.endsAfter(time), free));
        });
        held.close();
        outage.assertSettled(tck, Map.of(free, 30, full, 1), "callers whose time was over");
    }

    /** An administrator who has had no answer is not told that retired holders are left. */
    private static void assertNothing(TimedCall call, TimedCall.Ended ended, String name) {
        if (call.what().startsWith("SemaphoreAdmin.awaitReleased")) {
            assertThat(ended.failure())
                    .as("how %s ends that was not answered once", call.what())
                    .isInstanceOf(BackendUnavailableException.class)
                    .hasMessageContaining(name);
        }
        call.assertNothing(ended);
    }

    private Caller working(Outage outage, String name) {
        SemaphoreClient client = outage.client(Outage.EAGER);
        DistributedSemaphore semaphore = client.semaphore(name);
        Observer.assertWorks(tck, semaphore);
        return new Caller(client, semaphore);
    }

    /** Each call that may wait, interrupted; and one that waited before. */
    void interrupts(Outage outage) {
        String free = outage.create(30);
        String full = outage.create(1);
        Permit held = tck.take(outage.observer().semaphore(full), 1).get(0);
        Map<WaitingCalls.Call, Caller> alone = new LinkedHashMap<>();
        interruptible().forEach(call -> alone.put(call, working(outage, free)));
        DistributedSemaphore before = outage.client(Outage.EAGER).semaphore(full);
        TimedCall waiter =
                TimedCall.start(tck, "acquire() that waited before, " + outage, () -> flagged(before::acquire));
        waiter.task().awaitBlocked();
        outage.during(() -> {
            List<TimedCall> calls = new ArrayList<>(List.of(waiter));
            alone.forEach((call, own) -> calls.add(TimedCall.start(
                    tck, call + " " + outage, () -> flagged(() -> own.make(call, TimedCall.LONG)))));
            // So all have begun, which takes the processors, before any of them is to end in time.
            calls.forEach(TimedCall::waitsOn);
            calls.forEach(CallersTime::interrupt);
        });
        held.close();
        outage.assertSettled(tck, Map.of(free, 30, full, 1), "callers that were interrupted");
    }

    /** The administrator's wait, and that of a health check. */
    void interruptsOfQuestions(Outage outage) {
        String name = outage.create(2);
        List<Permit> held = tck.take(outage.observer().semaphore(name), 2);
        outage.observer().admin().resize(name, 1);
        SemaphoreClient asking = outage.client(Outage.EAGER);
        assertThat(asking.admin().describe(name)).isPresent();
        outage.during(() -> {
            // What waits for an answer ends by itself when the adapter gives its request up, so it is interrupted
            // first.
            List<TimedCall> calls = Stream.of(WaitingCalls.For.AN_ANSWER, WaitingCalls.For.A_RETIRED_HOLDER)
                    .flatMap(what -> WaitingCalls.waitingFor(what).stream())
                    .map(call -> TimedCall.start(
                            tck,
                            call + " " + outage,
                            () -> flagged(() -> call.body().call(asking, asking.semaphore(name), TimedCall.LONG))))
                    .toList();
            Duration briefly = tck.guarantees().callBound().dividedBy(15);
            Pause.millis(TckTiming.shorter(tck.quiet(), briefly).toMillis());
            calls.forEach(CallersTime::interrupt);
        });
        held.forEach(Permit::close);
        outage.assertSettled(tck, Map.of(name, 1), "holders");
    }

    private static void interrupt(TimedCall call) {
        long since = System.nanoTime();
        call.task().interrupt();
        TimedCall.Ended ended = call.endsAt("an interrupt", since);
        assertThat(ended.failure())
                .as("how %s ends that is interrupted", call.what())
                .isInstanceOf(InterruptedException.class);
    }

    /** Shows that an InterruptedException leaves no flag behind. */
    private static @Nullable Object flagged(Callable<?> call) throws Exception {
        try {
            return call.call();
        } catch (InterruptedException e) {
            // This counts as time of the call: the first assertThat of a JVM would load classes for longer than the
            // bound.
            if (Thread.currentThread().isInterrupted()) {
                throw new AssertionError("the interrupt flag is set after the InterruptedException", e);
            }
            throw e;
        }
    }

    /** One caller is stuck in a call that does not wait; the others have their own time. */
    void others(Outage outage) {
        String name = outage.create(5);
        String another = outage.create(5);
        SemaphoreClient client = outage.client(Outage.EAGER);
        Observer.assertWorks(tck, client.semaphore(name));
        Observer.assertWorks(tck, client.semaphore(another));
        Duration time = Duration.ofMillis(100);
        List<Attempt<Optional<Permit>>> stuck = new ArrayList<>();
        outage.during(() -> {
            stuck.add(Attempt.of(tck, "tryAcquire() that is stuck", client.semaphore(name)::tryAcquire));
            tck.proveNothing(
                    "a call is stuck " + outage,
                    TimedCall.SOON,
                    () -> !stuck.get(0).isDone());
            TimedCall same = TimedCall.start(
                    tck,
                    "tryAcquire(maxWait) beside a call that is stuck, " + outage,
                    () -> client.semaphore(name).tryAcquire(time));
            TimedCall other = TimedCall.start(
                    tck,
                    "tryAcquire(maxWait) of another name " + outage,
                    () -> client.semaphore(another).tryAcquire(time));
            for (TimedCall call : List.of(same, other)) {
                call.assertNothing(call.endsAfter(time));
            }
            assertThat(same.task().result().failure() instanceof OutcomeUnknownException)
                    .as("%s hears of an unknown outcome although it was never sent", same.what())
                    .isFalse();
        });
        if (!stuck.get(0).ended().failed()) {
            stuck.get(0).value().ifPresent(Permit::close);
        }
        outage.assertSettled(tck, Map.of(name, 5, another, 5), "callers beside one that was stuck");
    }

    /** A client is closed: its waiters end at once, and the call itself within a few operations. */
    void closing(Outage outage) {
        String free = outage.create(3);
        String full = outage.create(1);
        Permit held = tck.take(outage.observer().semaphore(full), 1).get(0);
        SemaphoreClient leaving = outage.client(Outage.EAGER);
        tck.take(leaving.semaphore(free), 1);
        List<TimedCall> waiters = List.of(
                TimedCall.start(tck, "acquire() of a client that closes", leaving.semaphore(full)::acquire),
                TimedCall.start(
                        tck,
                        "acquire(maxWait) of a client that closes",
                        () -> leaving.semaphore(full).acquire(TimedCall.LONG)),
                TimedCall.start(
                        tck,
                        "acquireAsync() of a client that closes",
                        () -> Waiters.joined(leaving.semaphore(full).acquireAsync())));
        waiters.forEach(waiter -> waiter.task().awaitBlocked());
        Duration most = tck.guarantees().callBound().multipliedBy(5);
        outage.during(() -> {
            TimedCall stuck = TimedCall.start(
                    tck,
                    "acquire(maxWait) that met the outage",
                    () -> leaving.semaphore(free).acquire(TimedCall.LONG));
            stuck.waitsOn();
            long since = System.nanoTime();
            Task<Boolean> close = tck.spawn("close", leaving::close);
            for (TimedCall waiter : waiters) {
                TimedCall.Ended ended = waiter.endsAt("close()", since);
                assertThat(ended.failure())
                        .as("how %s ends", waiter.what())
                        .isInstanceOf(SemaphoreClosedException.class);
            }
            assertThat(stuck.endsAt("close()", since).failure())
                    .as("how %s ends when its client is closed", stuck.what())
                    .isInstanceOf(SemaphoreClosedException.class);
            tck.await("close() ends although the backend does not answer, " + outage, most, close::isDone);
            assertThat(close.result()).isTrue();
        });
        held.close();
        outage.assertSettled(tck, Map.of(free, 3, full, 1), "clients that were closed");
    }

    /** Callers of all kinds give up, and their requests are answered when they have left. */
    void leavesNothing(Outage outage) {
        leavesNothing(outage, Duration.ZERO);
    }

    /** The same, and the adapter too gives up waiting for the answer. */
    void leavesNothingForLong(Outage outage) {
        leavesNothing(outage, Outage.longerThanRequests(tck));
    }

    /** Their client lives on, and nobody holds what nobody asks for any more. */
    private void leavesNothing(Outage outage, Duration more) {
        String name = outage.create(6);
        SemaphoreClient client = outage.client(Outage.EAGER);
        DistributedSemaphore semaphore = client.semaphore(name);
        Observer.assertWorks(tck, semaphore);
        Duration time = Duration.ofMillis(150);
        outage.during(() -> {
            CompletableFuture<Permit> cancelled = semaphore.acquireAsync();
            List<TimedCall> late = List.of(
                    TimedCall.start(tck, "tryAcquire(maxWait) " + outage, () -> semaphore.tryAcquire(time)),
                    TimedCall.start(tck, "acquire(permits, maxWait) " + outage, () -> semaphore.acquire(2, time)));
            TimedCall interrupted = TimedCall.start(tck, "acquire() " + outage, semaphore::acquire);
            interrupted.waitsOn();
            interrupted.task().interrupt();
            for (TimedCall call : List.of(late.get(0), late.get(1), interrupted)) {
                tck.await(call.what() + " ends", tck.guarantees().callBound().multipliedBy(2), call.task()::isDone);
            }
            cancelled.cancel(true);
            Pause.millis(more.toMillis());
        });
        Observer.assertWorks(tck, semaphore);
        outage.assertSettled(tck, Map.of(name, 6), "callers that gave up");
        tck.proveNothing(
                "nobody comes to hold what nobody asks for any more, " + outage,
                tck.quiet().multipliedBy(3),
                () -> outage.observer().semaphore(name).availablePermits() == 6);
        assertThat(outage.observer().admin().describe(name).orElseThrow().holders())
                .as("holders after all callers gave up")
                .isEmpty();
    }
}
