package io.github.distributedsemaphore.tck.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Attempt;
import io.github.distributedsemaphore.tck.watch.Observer;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Waiters that ride out an {@link Outage}, and those that give up after the patience that their client was given. */
final class CallersPatience {
    /** How long a request may have been under way when an outage begins, on a busy machine. */
    private static final Duration UNDER_WAY = Duration.ofMillis(100);

    /** A client takes up its semaphores one after the other when an outage ends. */
    private static final int MORE = 5;

    private final TckFixture tck;

    CallersPatience(TckFixture tck) {
        this.tck = tck;
    }

    /** Waiters wait on while the backend is away, and are served when it is back. */
    void ridesOut(Outage outage) {
        Duration away = Outage.longerThanRequests(tck).plusSeconds(1);
        String freedMeanwhile = outage.create(1);
        String freedLater = outage.create(1);
        Permit early = tck.take(outage.observer().semaphore(freedMeanwhile), 1).get(0);
        Permit late = tck.take(outage.observer().semaphore(freedLater), 1).get(0);
        // Some servers take half a minute to start.
        SemaphoreClient client = outage.client(Outage.EAGER.with("outagePatience", "3m"));
        SemaphoreClient another = outage.client(Outage.EAGER.with("outagePatience", "3m"));
        List<String> free = Stream.generate(() -> outage.create(1)).limit(MORE).toList();
        free.forEach(name -> Observer.assertWorks(tck, another.semaphore(name)));
        Duration hour = Duration.ofHours(1);
        List<TimedCall> waiters = new ArrayList<>();
        for (String name : List.of(freedMeanwhile, freedLater)) {
            DistributedSemaphore semaphore = client.semaphore(name);
            waiters.add(TimedCall.start(tck, "acquire() " + outage, semaphore::acquire));
            waiters.add(TimedCall.start(tck, "acquire(maxWait) " + outage, () -> semaphore.acquire(hour)));
            waiters.add(TimedCall.start(
                    tck, "acquireAsync(maxWait) " + outage, () -> Waiters.joined(semaphore.acquireAsync(hour))));
        }
        waiters.forEach(waiter -> waiter.task().awaitBlocked());
        outage.during(() -> {
            Attempt<Boolean> release = Attempt.of(tck, "close", () -> {
                early.close();
                return true;
            });
            // They listen to nothing yet: only the tries of their client take them up again, all of them.
            Stream<String> all = Stream.concat(Stream.of(freedMeanwhile, freedLater), free.stream());
            for (String name : all.toList()) {
                waiters.add(TimedCall.start(tck, "acquire() begun during " + outage, another.semaphore(name)::acquire));
            }
            Pause.millis(away.toMillis());
            waiters.forEach(TimedCall::assertGoesOn);
            tck.await("a release ends", tck.guarantees().callBound(), release::isDone);
        });
        late.close();
        serveOneAfterTheOther(waiters);
        Map<String, Integer> limits = new HashMap<>(Map.of(freedMeanwhile, 1, freedLater, 1));
        free.forEach(name -> limits.put(name, 1));
        outage.assertSettled(tck, limits, "waiters");
    }

    /** Each caller that gets a permit gives it back, until all had one. Waiters ask again after a few seconds at the latest. */
    private void serveOneAfterTheOther(List<TimedCall> waiters) {
        Duration bound = Observer.settling(tck).plusSeconds(6);
        List<TimedCall> left = new ArrayList<>(waiters);
        while (!left.isEmpty()) {
            tck.await(
                    "a waiter is served when the backend is back",
                    bound,
                    () -> left.stream().anyMatch(waiter -> waiter.task().isDone()));
            for (TimedCall waiter : List.copyOf(left)) {
                if (waiter.task().isDone()) {
                    left.remove(waiter);
                    TimedCall.Ended ended = waiter.task().result();
                    if (!(ended.value() instanceof Permit permit)) {
                        throw new AssertionError(waiter.what()
                                + " was not served when the backend was back: it ended with " + ended.outcome());
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
        SemaphoreClient patient = outage.client(Outage.EAGER.with("outagePatience", "3m"));
        SemaphoreClient hasty = outage.client(Outage.EAGER.with("outagePatience", "0s"));
        TimedCall waiter = TimedCall.start(
                tck, "awaitReleased(maxWait) " + outage, () -> patient.admin().awaitReleased(name, TimedCall.LONG));
        TimedCall atOnce = TimedCall.start(
                tck,
                "awaitReleased(maxWait) with outagePatience=0s",
                () -> hasty.admin().awaitReleased(name, TimedCall.LONG));
        waiter.task().awaitBlocked();
        atOnce.task().awaitBlocked();
        long since = System.nanoTime();
        outage.during(() -> {
            Pause.millis(Outage.longerThanRequests(tck).plusSeconds(1).toMillis());
            waiter.assertGoesOn();
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
        outage.assertSettled(tck, Map.of(name, 1), "holders");
    }

    /** The administrator's wait gives up after the patience of its client, which counts anew in each outage. */
    void awaitReleasedGivesUp(Outage outage) {
        String name = outage.create(2);
        List<Permit> held = tck.take(outage.observer().semaphore(name), 2);
        outage.observer().admin().resize(name, 1);
        // A client may take a while until it is connected again.
        Duration patience = Duration.ofSeconds(4);
        SemaphoreClient client = outage.client(Outage.EAGER.with("outagePatience", "4s"));
        TimedCall waiter = TimedCall.start(
                tck,
                "awaitReleased(maxWait) with outagePatience=4s",
                () -> client.admin().awaitReleased(name, TimedCall.LONG));
        waiter.task().awaitBlocked();
        long first = System.nanoTime();
        // Longer than the pauses between two questions.
        outage.during(() -> Pause.millis(500));
        Pause.millis(patience.toMillis());
        if (waiter.task().isDone()) {
            tck.abortIfStoodStill(patience.dividedBy(4), first);
        }
        waiter.assertGoesOn();
        // Patience counts from the sending of the first request without an answer, which may be under way already.
        long second = System.nanoTime() - UNDER_WAY.toNanos();
        outage.during(() -> {
            tck.await(
                    waiter.what() + " gives up after its patience",
                    patience.plus(tck.guarantees().callBound()).plusSeconds(1),
                    waiter.task()::isDone);
            assertGaveUp(waiter, name, second + patience.toNanos());
        });
        held.forEach(Permit::close);
        outage.assertSettled(tck, Map.of(name, 1), "holders");
    }

    /** Waiters give up after the patience that their client was given, and say how long they tried. */
    void givesUp(Outage outage) {
        String full = outage.create(1);
        Permit held = tck.take(outage.observer().semaphore(full), 1).get(0);
        Duration patience = Duration.ofSeconds(1);
        DistributedSemaphore patient =
                outage.client(Outage.EAGER.with("outagePatience", "1s")).semaphore(full);
        DistributedSemaphore hasty =
                outage.client(Outage.EAGER.with("outagePatience", "0s")).semaphore(full);
        List<TimedCall> shortly = List.of(
                TimedCall.start(tck, "acquire() with outagePatience=1s", patient::acquire),
                TimedCall.start(tck, "acquire(maxWait) with outagePatience=1s", () -> patient.acquire(TimedCall.LONG)),
                TimedCall.start(
                        tck, "acquireAsync() with outagePatience=1s", () -> Waiters.joined(patient.acquireAsync())));
        TimedCall atOnce =
                TimedCall.start(tck, "acquire(maxWait) with outagePatience=0s", () -> hasty.acquire(TimedCall.LONG));
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
            for (TimedCall waiter : shortly) {
                tck.await(
                        waiter.what() + " gives up after its patience",
                        noticed.plus(patience).plus(tck.guarantees().callBound()),
                        waiter.task()::isDone);
                assertGaveUp(waiter, full, since + patience.toNanos());
            }
        });
        held.close();
        outage.assertSettled(tck, Map.of(full, 1), "waiters that gave up");
    }

    private static void assertGaveUp(TimedCall waiter, String name, long notBefore) {
        TimedCall.Ended ended = waiter.task().result();
        assertThat(ended.failure())
                .as("how %s ends whose patience is over", waiter.what())
                .isInstanceOfAny(BackendUnavailableException.class, OutcomeUnknownException.class)
                .hasMessageContaining(name);
        assertThat(ended.outcome().replace(name, ""))
                .as("how long %s tried, in its message", waiter.what())
                .containsPattern("\\d ?(ms|s)\\b");
        assertThat(Duration.ofNanos(ended.ended() - notBefore))
                .as("by how much %s waited for longer than its patience", waiter.what())
                .isPositive();
    }
}
