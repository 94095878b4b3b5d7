package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.tck.fixture.Conservation;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.rulebook.Bound;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.WaitingCalls;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Calls that meet an {@link Outage}, and whether they end when their callers want it: at most a tenth of a second after their
 * time-out or their interrupt, less what the machine itself stood still.
 */
final class CallersTime {
    /** The latest that a call ends after its time. */
    private static final Duration MOST_LATE = Duration.ofMillis(100);

    /** Enough for a call to be under way. */
    private static final Duration SOON = Duration.ofMillis(30);

    private static final Duration MOST_AWAY = Duration.ofSeconds(7);

    static final Duration LONG = Duration.ofSeconds(60);

    /** How long a request may have been under way when an outage begins, on a busy machine. */
    private static final Duration UNDER_WAY = Duration.ofMillis(100);

    /** Waiters that ask often are in an exchange when their time comes, and not between two of them. */
    static final ClientSpec EAGER = ClientSpec.plain().with("recheck", "50ms");

    private final TckFixture tck;

    CallersTime(TckFixture tck) {
        this.tck = tck;
    }

    /** How a call ended. */
    record Ended(@Nullable Object value, @Nullable Exception failure, long begun, long ended) {}

    /** A call on a thread of its own. */
    final class Timed {
        private final String what;
        private final Task<Ended> task;

        Timed(String what, Task<Ended> task) {
            this.what = what;
            this.task = task;
        }

        Task<Ended> task() {
            return task;
        }

        String what() {
            return what;
        }

        /** Waits for the end, and shows that it came soon after a time that counts from the beginning of the call. */
        Ended endsAfter(Duration time) {
            awaitEnd();
            Ended ended = task.result();
            assertInTime(
                    what + " after its time-out of " + time.toMillis() + " ms", ended.begun() + time.toNanos(), ended);
            return ended;
        }

        /** Waits for the end, and shows that it came soon after an instant. */
        Ended endsAt(String event, long instant) {
            awaitEnd();
            Ended ended = task.result();
            assertInTime(what + " after " + event, instant, ended);
            return ended;
        }

        /** Shows that the call goes on for a moment. That it is blocked the state of a thread does not tell: it may read. */
        void waitsOn() {
            tck.proveNothing(what + " waits on while the backend is away", SOON, () -> !task.isDone());
        }

        private void awaitEnd() {
            tck.await(
                    what + " ends after its time, although the backend does not answer",
                    tck.guarantees().callBound().multipliedBy(3),
                    task::isDone);
        }
    }

    /** Shows that something ended soon after it had to. */
    void assertInTime(String what, long due, Ended ended) {
        long late = ended.ended() - due;
        if (late > 0) {
            late -= tck.stoodStill(due, ended.ended());
        }
        tck.measure(Bound.TIMEOUT_SLACK, Math.max(0, late));
        if (late > tck.scaled(MOST_LATE).toNanos()) {
            throw new AssertionError(what + " came " + Duration.ofNanos(late).toMillis() + " ms late, it may be "
                    + tck.scaled(MOST_LATE).toMillis() + " ms; it ended with " + outcome(ended));
        }
    }

    private static String outcome(Ended ended) {
        return String.valueOf(ended.failure() == null ? ended.value() : ended.failure());
    }

    /** Starts a call. */
    Timed start(String what, Callable<?> call) {
        return new Timed(what, tck.spawn(what, () -> {
            long begun = System.nanoTime();
            try {
                Object value = call.call();
                return new Ended(value, null, begun, System.nanoTime());
            } catch (Exception e) {
                return new Ended(null, e, begun, System.nanoTime());
            }
        }));
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

    private static Object joined(CompletableFuture<?> future) throws Exception {
        try {
            return future.get();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    /** Shows that a call ended without a permit, and in one of the ways in which it may. */
    static void assertNothing(String what, Ended ended) {
        if (ended.value() instanceof Permit permit) {
            permit.close();
        } else if (ended.value() instanceof PermitGroup group) {
            group.close();
        } else if (ended.value() instanceof Optional<?> optional && optional.isPresent()) {
            assertNothing(what, new Ended(optional.get(), null, ended.begun(), ended.ended()));
        } else if (Optional.empty().equals(ended.value()) || Boolean.FALSE.equals(ended.value())) {
            return;
        } else {
            assertThat(ended.failure())
                    .as("how %s ends whose time is over while the backend does not answer", what)
                    .isInstanceOfAny(
                            SemaphoreTimeoutException.class,
                            BackendUnavailableException.class,
                            OutcomeUnknownException.class);
            return;
        }
        throw new AssertionError(what + " was granted something while the backend does not answer");
    }

    /** Each call with a time-out, alone with a client of its own, all of them on one client, and one that waited before. */
    void timeOuts(Outage outage) {
        String free = outage.create(30);
        String full = outage.create(1);
        Permit held = tck.take(outage.observer().semaphore(full), 1).get(0);
        Map<WaitingCalls.Call, Caller> alone = new LinkedHashMap<>();
        timed().forEach(call -> alone.put(call, working(outage, free)));
        Caller crowd = working(outage, free);
        DistributedSemaphore before = outage.client(EAGER).semaphore(full);
        Duration early = tck.scaled(Duration.ofSeconds(1));
        Timed waiter = start("tryAcquire(maxWait) that waited before, " + outage, () -> before.tryAcquire(early));
        waiter.task().awaitBlocked();
        Map<Timed, Duration> calls = new LinkedHashMap<>();
        outage.during(() -> {
            calls.put(waiter, early);
            alone.forEach((call, own) -> {
                Duration time = Duration.ofMillis(call.method().contains(".try") ? 100 : 200);
                calls.put(start(call + " " + outage, () -> own.make(call, time)), time);
                calls.put(start(call + " among others " + outage, () -> crowd.make(call, time)), time);
            });
            calls.forEach((call, time) -> assertNothing(call.what(), call.endsAfter(time)));
        });
        held.close();
        settled(outage, Map.of(free, 30, full, 1), "callers whose time was over");
    }

    private Caller working(Outage outage, String name) {
        SemaphoreClient client = outage.client(EAGER);
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
        DistributedSemaphore before = outage.client(EAGER).semaphore(full);
        Timed waiter = start("acquire() that waited before, " + outage, () -> flagged(before::acquire));
        waiter.task().awaitBlocked();
        outage.during(() -> {
            List<Timed> calls = new ArrayList<>(List.of(waiter));
            alone.forEach((call, own) ->
                    calls.add(start(call + " " + outage, () -> flagged(() -> own.make(call, LONG)))));
            for (Timed call : calls) {
                call.waitsOn();
                long since = System.nanoTime();
                call.task().interrupt();
                Ended ended = call.endsAt("an interrupt", since);
                assertThat(ended.failure())
                        .as("how %s ends that is interrupted", call.what())
                        .isInstanceOf(InterruptedException.class);
            }
        });
        held.close();
        settled(outage, Map.of(free, 30, full, 1), "callers that were interrupted");
    }

    /** The administrator's wait. */
    void interruptOfAwaitReleased(Outage outage) {
        String name = outage.create(2);
        List<Permit> held = tck.take(outage.observer().semaphore(name), 2);
        outage.observer().admin().resize(name, 1);
        SemaphoreClient asking = outage.client(EAGER);
        assertThat(asking.admin().describe(name)).isPresent();
        outage.during(() -> {
            Timed call = start(
                    "awaitReleased(maxWait) " + outage,
                    () -> flagged(() -> asking.admin().awaitReleased(name, LONG)));
            Pause.millis(tck.quiet().toMillis());
            long since = System.nanoTime();
            call.task().interrupt();
            Ended ended = call.endsAt("an interrupt", since);
            assertThat(ended.failure())
                    .as("how %s ends that is interrupted", call.what())
                    .isInstanceOf(InterruptedException.class);
        });
        held.forEach(Permit::close);
        settled(outage, Map.of(name, 1), "holders");
    }

    /** Shows that an InterruptedException leaves no flag behind. */
    private static @Nullable Object flagged(Callable<?> call) throws Exception {
        try {
            return call.call();
        } catch (InterruptedException e) {
            assertThat(Thread.currentThread().isInterrupted())
                    .as("the interrupt flag after the InterruptedException")
                    .isFalse();
            throw e;
        }
    }

    /** One caller is stuck in a call that does not wait; the others have their own time. */
    void others(Outage outage) {
        String name = outage.create(5);
        String another = outage.create(5);
        SemaphoreClient client = outage.client(EAGER);
        Observer.assertWorks(tck, client.semaphore(name));
        Observer.assertWorks(tck, client.semaphore(another));
        Duration time = Duration.ofMillis(100);
        List<Attempt<Optional<Permit>>> stuck = new ArrayList<>();
        outage.during(() -> {
            stuck.add(Attempt.of(tck, "tryAcquire() that is stuck", client.semaphore(name)::tryAcquire));
            tck.proveNothing(
                    "a call is stuck " + outage, SOON, () -> !stuck.get(0).isDone());
            Timed same = start(
                    "tryAcquire(maxWait) beside a call that is stuck, " + outage,
                    () -> client.semaphore(name).tryAcquire(time));
            Timed other = start(
                    "tryAcquire(maxWait) of another name " + outage,
                    () -> client.semaphore(another).tryAcquire(time));
            for (Timed call : List.of(same, other)) {
                assertNothing(call.what(), call.endsAfter(time));
            }
            assertThat(same.task().result().failure() instanceof OutcomeUnknownException)
                    .as("%s hears of an unknown outcome although it was never sent", same.what())
                    .isFalse();
        });
        if (!stuck.get(0).ended().failed()) {
            stuck.get(0).value().ifPresent(Permit::close);
        }
        settled(outage, Map.of(name, 5, another, 5), "callers beside one that was stuck");
    }

    /** A client is closed: its waiters end at once, and the call itself within a few operations. */
    void closing(Outage outage) {
        String free = outage.create(3);
        String full = outage.create(1);
        Permit held = tck.take(outage.observer().semaphore(full), 1).get(0);
        SemaphoreClient leaving = outage.client(EAGER);
        tck.take(leaving.semaphore(free), 1);
        List<Timed> waiters = List.of(
                start("acquire() of a client that closes", leaving.semaphore(full)::acquire),
                start(
                        "acquire(maxWait) of a client that closes",
                        () -> leaving.semaphore(full).acquire(LONG)),
                start(
                        "acquireAsync() of a client that closes",
                        () -> joined(leaving.semaphore(full).acquireAsync())));
        waiters.forEach(waiter -> waiter.task().awaitBlocked());
        Duration most = tck.guarantees().callBound().multipliedBy(5);
        outage.during(() -> {
            Timed stuck = start(
                    "acquire(maxWait) that met the outage",
                    () -> leaving.semaphore(free).acquire(LONG));
            stuck.waitsOn();
            long since = System.nanoTime();
            Task<Boolean> close = tck.spawn("close", leaving::close);
            for (Timed waiter : waiters) {
                Ended ended = waiter.endsAt("close()", since);
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
        settled(outage, Map.of(free, 3, full, 1), "clients that were closed");
    }

    /** Adapters give up a request after a third of the operation bound, and that is some seconds at most. */
    private Duration longerThanRequests() {
        Duration half = tck.guarantees().callBound().dividedBy(2);
        return half.compareTo(MOST_AWAY) < 0 ? half : MOST_AWAY;
    }

    /** Waiters wait on while the backend is away, and are served when it is back. */
    void ridesOut(Outage outage) {
        Duration away = longerThanRequests().plusSeconds(1);
        String freedMeanwhile = outage.create(1);
        String freedLater = outage.create(1);
        Permit early = tck.take(outage.observer().semaphore(freedMeanwhile), 1).get(0);
        Permit late = tck.take(outage.observer().semaphore(freedLater), 1).get(0);
        // Some servers take half a minute to start.
        SemaphoreClient client = outage.client(EAGER.with("outagePatience", "3m"));
        Duration hour = Duration.ofHours(1);
        List<Timed> waiters = new ArrayList<>();
        for (String name : List.of(freedMeanwhile, freedLater)) {
            DistributedSemaphore semaphore = client.semaphore(name);
            waiters.add(start("acquire() " + outage, semaphore::acquire));
            waiters.add(start("acquire(maxWait) " + outage, () -> semaphore.acquire(hour)));
            waiters.add(start("acquireAsync(maxWait) " + outage, () -> joined(semaphore.acquireAsync(hour))));
        }
        waiters.forEach(waiter -> waiter.task().awaitBlocked());
        outage.during(() -> {
            Attempt<Boolean> release = Attempt.of(tck, "close", () -> {
                early.close();
                return true;
            });
            Pause.millis(away.toMillis());
            waiters.forEach(CallersTime::assertGoesOn);
            tck.await("a release ends", tck.guarantees().callBound(), release::isDone);
        });
        late.close();
        serveOneAfterTheOther(waiters);
        settled(outage, Map.of(freedMeanwhile, 1, freedLater, 1), "waiters");
    }

    /** Each caller that gets a permit gives it back, until all had one. Waiters ask again after a few seconds at the latest. */
    private void serveOneAfterTheOther(List<Timed> waiters) {
        Duration bound = Observer.settling(tck).plusSeconds(6);
        List<Timed> left = new ArrayList<>(waiters);
        while (!left.isEmpty()) {
            tck.await(
                    "a waiter is served when the backend is back",
                    bound,
                    () -> left.stream().anyMatch(waiter -> waiter.task().isDone()));
            for (Timed waiter : List.copyOf(left)) {
                if (waiter.task().isDone()) {
                    left.remove(waiter);
                    Ended ended = waiter.task().result();
                    if (!(ended.value() instanceof Permit permit)) {
                        throw new AssertionError(waiter.what()
                                + " was not served when the backend was back: it ended with " + outcome(ended));
                    }
                    permit.close();
                }
            }
        }
    }

    /** So does the administrator's wait for the holders of removed slots; with less patience it gives up. */
    void awaitReleasedRidesOut(Outage outage) {
        String name = outage.create(2);
        List<Permit> held = tck.take(outage.observer().semaphore(name), 2);
        outage.observer().admin().resize(name, 1);
        SemaphoreClient patient = outage.client(EAGER.with("outagePatience", "3m"));
        SemaphoreClient hasty = outage.client(EAGER.with("outagePatience", "0s"));
        Timed waiter =
                start("awaitReleased(maxWait) " + outage, () -> patient.admin().awaitReleased(name, LONG));
        Timed atOnce = start(
                "awaitReleased(maxWait) with outagePatience=0s",
                () -> hasty.admin().awaitReleased(name, LONG));
        waiter.task().awaitBlocked();
        atOnce.task().awaitBlocked();
        long since = System.nanoTime();
        outage.during(() -> {
            Pause.millis(longerThanRequests().plusSeconds(1).toMillis());
            assertGoesOn(waiter);
            tck.await(
                    atOnce.what() + " gives up at once",
                    tck.guarantees().callBound().plusSeconds(1),
                    atOnce.task()::isDone);
            assertGaveUp(atOnce, name, since);
        });
        held.forEach(Permit::close);
        tck.await(
                "awaitReleased ends when the backend is back and the holders are gone",
                Observer.settling(tck).plusSeconds(6),
                waiter.task()::isDone);
        assertThat(waiter.task().result().value())
                .as("what %s says after the outage", waiter.what())
                .isEqualTo(true);
        settled(outage, Map.of(name, 1), "holders");
    }

    private static void assertGoesOn(Timed waiter) {
        if (waiter.task().isDone()) {
            throw new AssertionError(waiter.what() + " does not wait on while the backend is away: it ended with "
                    + outcome(waiter.task().result()));
        }
    }

    /** Waiters give up after the patience that their client was given, and say how long they tried. */
    void givesUp(Outage outage) {
        String full = outage.create(1);
        Permit held = tck.take(outage.observer().semaphore(full), 1).get(0);
        Duration patience = Duration.ofSeconds(1);
        DistributedSemaphore patient =
                outage.client(EAGER.with("outagePatience", "1s")).semaphore(full);
        DistributedSemaphore hasty =
                outage.client(EAGER.with("outagePatience", "0s")).semaphore(full);
        List<Timed> shortly = List.of(
                start("acquire() with outagePatience=1s", patient::acquire),
                start("acquire(maxWait) with outagePatience=1s", () -> patient.acquire(LONG)),
                start("acquireAsync() with outagePatience=1s", () -> joined(patient.acquireAsync())));
        Timed atOnce = start("acquire(maxWait) with outagePatience=0s", () -> hasty.acquire(LONG));
        shortly.forEach(waiter -> waiter.task().awaitBlocked());
        atOnce.task().awaitBlocked();
        // A waiter asks soon, and knows after one operation that there is no answer.
        Duration noticed = tck.guarantees().callBound().plusSeconds(1);
        // Patience counts from the sending of the first request without an answer, which may be under way already.
        long since = System.nanoTime() - UNDER_WAY.toNanos();
        outage.during(() -> {
            tck.await(atOnce.what() + " gives up at once", noticed, atOnce.task()::isDone);
            assertThat(atOnce.task().result().failure())
                    .as("how %s ends", atOnce.what())
                    .isInstanceOfAny(BackendUnavailableException.class, OutcomeUnknownException.class);
            for (Timed waiter : shortly) {
                tck.await(
                        waiter.what() + " gives up after its patience",
                        noticed.plus(patience).plus(tck.guarantees().callBound()),
                        waiter.task()::isDone);
                assertGaveUp(waiter, full, since + patience.toNanos());
            }
        });
        held.close();
        settled(outage, Map.of(full, 1), "waiters that gave up");
    }

    private static void assertGaveUp(Timed waiter, String name, long notBefore) {
        Ended ended = waiter.task().result();
        assertThat(ended.failure())
                .as("how %s ends whose patience is over", waiter.what())
                .isInstanceOfAny(BackendUnavailableException.class, OutcomeUnknownException.class)
                .hasMessageContaining(name);
        assertThat(outcome(ended).replace(name, ""))
                .as("how long %s tried, in its message", waiter.what())
                .containsPattern("\\d ?(ms|s)\\b");
        assertThat(Duration.ofNanos(ended.ended() - notBefore))
                .as("by how much %s waited for longer than its patience", waiter.what())
                .isPositive();
    }

    /** Callers of all kinds give up, and their requests are answered when they have left. */
    void leavesNothing(Outage outage) {
        leavesNothing(outage, Duration.ZERO);
    }

    /** The same, and the adapter too gives up waiting for the answer. */
    void leavesNothingForLong(Outage outage) {
        leavesNothing(outage, longerThanRequests());
    }

    /** Their client lives on, and nobody holds what nobody asks for any more. */
    private void leavesNothing(Outage outage, Duration more) {
        String name = outage.create(6);
        SemaphoreClient client = outage.client(EAGER);
        DistributedSemaphore semaphore = client.semaphore(name);
        Observer.assertWorks(tck, semaphore);
        Duration time = Duration.ofMillis(150);
        outage.during(() -> {
            CompletableFuture<Permit> cancelled = semaphore.acquireAsync();
            List<Timed> late = List.of(
                    start("tryAcquire(maxWait) " + outage, () -> semaphore.tryAcquire(time)),
                    start("acquire(permits, maxWait) " + outage, () -> semaphore.acquire(2, time)));
            Timed interrupted = start("acquire() " + outage, semaphore::acquire);
            interrupted.waitsOn();
            interrupted.task().interrupt();
            for (Timed call : List.of(late.get(0), late.get(1), interrupted)) {
                tck.await(call.what() + " ends", tck.guarantees().callBound().multipliedBy(2), call.task()::isDone);
            }
            cancelled.cancel(true);
            Pause.millis(more.toMillis());
        });
        Observer.assertWorks(tck, semaphore);
        settled(outage, Map.of(name, 6), "callers that gave up");
        tck.proveNothing(
                "nobody comes to hold what nobody asks for any more, " + outage,
                tck.quiet().multipliedBy(3),
                () -> outage.observer().semaphore(name).availablePermits() == 6);
        assertThat(outage.observer().admin().describe(name).orElseThrow().holders())
                .as("holders after all callers gave up")
                .isEmpty();
    }

    /** Everything that was asked for goes back, although its callers have left and its client lives and renews. */
    void settled(Outage outage, Map<String, Integer> free, String of) {
        free.forEach((name, count) -> {
            new Observer(tck, outage.observer().semaphore(name))
                    .awaitFree(count, of + " " + outage + " hold nothing afterwards");
            Conservation.assertFree(outage.observer().semaphore(name), count, tck.patience());
        });
    }
}
