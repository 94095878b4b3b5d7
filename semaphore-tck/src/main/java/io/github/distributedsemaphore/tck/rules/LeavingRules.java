package io.github.distributedsemaphore.tck.rules;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreListener;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.tck.fixture.Section;
import io.github.distributedsemaphore.tck.fixture.Task;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.rulebook.Rule;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.watch.Race;
import io.github.distributedsemaphore.tck.watch.Waiters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Section 2, and 1.8, 3.6, 10.2, 11.2: calls and clients that leave while permits come. */
@Section
public abstract class LeavingRules {
    private static final Duration BUDGET = Duration.ofMillis(2_500);

    /** What was granted to a call that has ended goes back first, which is an exchange more. No lease ends so soon. */
    private static final Duration ON_ITS_WAY = Duration.ofMillis(500);

    private static final int SEMAPHORES = 16;
    private static final int CONTENDERS = 3;

    /** For subclasses. */
    protected LeavingRules() {}

    /**
     * A future is completed a moment after its permits were granted. Every second cancel comes just then, as the news of a listener
     * does; the others come while the backend is asked.
     */
    @Test
    @Rule({"10.2", "1.8"})
    void aGroupWhoseFutureIsCancelledWhenItComesGoesBackWhole(TckFixture tck) throws Exception {
        String name = tck.create(2);
        SemaphoreClient client = tck.client();
        DistributedSemaphore semaphore = client.semaphore(name);
        // A new client connects first.
        semaphore.acquire(2, tck.patience()).close();
        AtomicBoolean granted = new AtomicBoolean();
        client.addListener(tellingGrants(granted));
        for (int round : tck.repeat(tck.rounds(5_000, 300), BUDGET)) {
            PermitGroup held =
                    bothSoon(tck, semaphore, "a group that was cancelled kept a permit, before race " + round);
            granted.set(false);
            CompletableFuture<PermitGroup> future = semaphore.acquireAsync(2);
            CountDownLatch ready = new CountDownLatch(1);
            Task<Boolean> cancel = tck.spawn("cancel", () -> {
                ready.countDown();
                if (round % 2 == 0) {
                    awaitGrant(tck, granted);
                }
                future.cancel(true);
            });
            ready.await();
            held.close();
            cancel.result();
            if (!future.isCancelled()) {
                future.get().close();
            }
        }
        tck.assertFree(name, 2);
    }

    private static SemaphoreListener tellingGrants(AtomicBoolean granted) {
        return new SemaphoreListener() {
            @Override
            public void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {
                granted.set(true);
            }
        };
    }

    /** Without a pause, which would be longer than the moment that is to be met. */
    private static void awaitGrant(TckFixture tck, AtomicBoolean granted) {
        long since = System.nanoTime();
        while (!granted.get() && System.nanoTime() - since < tck.patience().toNanos()) {
            Thread.onSpinWait();
        }
    }

    /** Takes both permits of a limit of two, which must be free soon, and not only when a lease has ended. */
    private static PermitGroup bothSoon(TckFixture tck, DistributedSemaphore semaphore, String otherwise)
            throws InterruptedException {
        Duration soon = tck.guarantees().wakeUpBound().plus(ON_ITS_WAY);
        long since = System.nanoTime();
        PermitGroup both = semaphore.tryAcquire(2, tck.patience()).orElseThrow(() -> new AssertionError(otherwise));
        if (tck.isOver(soon, since)) {
            throw new AssertionError(otherwise + " (not free within " + tck.scaled(soon) + ")");
        }
        return both;
    }

    /** The interrupt comes at any moment of the round trip that grants the group. */
    @Test
    @Rule({"3.6", "1.8"})
    void aGroupWhoseThreadIsInterruptedWhenItComesGoesBackWhole(TckFixture tck) throws Exception {
        String name = tck.create(2);
        DistributedSemaphore semaphore = tck.home().semaphore(name);
        semaphore.acquire(2, tck.patience()).close();
        for (int round : tck.repeat(tck.rounds(5_000, 300), BUDGET)) {
            long since = System.nanoTime();
            PermitGroup held =
                    bothSoon(tck, semaphore, "a group that was interrupted kept a permit, before race " + round);
            long delay = (long) (tck.random().nextDouble() * 2 * (System.nanoTime() - since));
            Task<Boolean> waiter = tck.spawn("waiter for two", () -> isServed(tck, semaphore));
            waiter.awaitBlocked();
            CompletableFuture<?> unused = held.releaseAsync();
            Race.pass(delay);
            waiter.interrupt();
            waiter.result();
        }
        tck.assertFree(name, 2);
    }

    private static boolean isServed(TckFixture tck, DistributedSemaphore semaphore) {
        try (PermitGroup group = semaphore.acquire(2, tck.patience())) {
            return group.isValid();
        } catch (InterruptedException e) {
            return false;
        }
    }

    /** What is granted to a client while it closes goes back with the rest, and what is granted later is granted to nobody. */
    @Test
    @Rule({"2.3", "1.8"})
    void aClientThatIsClosedWhenItsPermitsComeKeepsNone(TckFixture tck) {
        Contest contest = new Contest(tck);
        contest.takeAll("new semaphores have all their permits free");
        long took = contest.releaseAll();
        contest.takeAll("what was released is free");
        for (int round : tck.repeat(tck.rounds(500, 100), BUDGET)) {
            SemaphoreClient leaving = tck.client();
            contest.queue(leaving);
            // Its watches may be open by then, or not yet.
            Pause.millis(tck.random().nextInt(20));
            long delay = (long) (tck.random().nextDouble() * 2 * took);
            Task<Boolean> closing = tck.spawn("close when permits come", () -> {
                Race.pass(delay);
                leaving.close();
            });
            // Not much longer at a time, because a machine that stands still for a moment is not to have the next close
            // come late.
            took = Math.min(2 * took, contest.releaseAll());
            contest.serveRest();
            closing.result();
            contest.takeAll("a client that was closed when its permits came keeps none, after race " + round);
        }
        contest.releaseAll();
        tck.assertFree(contest.names.get(0), CONTENDERS);
    }

    /**
     * Clients that wait at the same semaphores, each for one permit of each. They are in each other's way, so that requests last, and there
     * are so many semaphores that some of those of a client are under way whenever it is closed.
     */
    private static final class Contest {
        private final TckFixture tck;
        private final List<SemaphoreClient> staying;
        private final List<String> names;
        private final List<PermitGroup> held = new ArrayList<>();
        private final List<CompletableFuture<Permit>> waiting = new ArrayList<>();

        Contest(TckFixture tck) {
            this.tck = tck;
            this.staying = Stream.generate(tck::client).limit(CONTENDERS - 1).toList();
            this.names = Stream.generate(() -> tck.create(CONTENDERS))
                    .limit(SEMAPHORES)
                    .toList();
        }

        void takeAll(String otherwise) {
            List<CompletableFuture<PermitGroup>> attempts = names.stream()
                    .map(name -> tck.home().semaphore(name).acquireAsync(CONTENDERS, Duration.ZERO))
                    .toList();
            for (CompletableFuture<PermitGroup> attempt : attempts) {
                assertThat(attempt).as(otherwise).succeedsWithin(tck.patience());
                held.add(attempt.join());
            }
        }

        void queue(SemaphoreClient leaving) {
            for (String name : names) {
                staying.forEach(client -> waiting.add(client.semaphore(name).acquireAsync()));
                CompletableFuture<Permit> unused = leaving.semaphore(name).acquireAsync();
            }
            names.forEach(name -> awaitAsked(tck, leaving.semaphore(name)));
        }

        /** Returns how many nanoseconds it took. */
        long releaseAll() {
            long since = System.nanoTime();
            awaitAll("permits are released", held.stream().map(PermitGroup::releaseAsync));
            held.clear();
            return System.nanoTime() - since;
        }

        void serveRest() {
            awaitAll("clients beside one that is closed are served", waiting.stream());
            awaitAll(
                    "what they got is released",
                    waiting.stream().map(future -> future.join().releaseAsync()));
            waiting.clear();
        }

        private void awaitAll(String what, Stream<? extends CompletableFuture<?>> some) {
            List<? extends CompletableFuture<?>> all = some.toList();
            tck.await(what, () -> all.stream().allMatch(CompletableFuture::isDone));
            all.forEach(CompletableFuture::join);
        }
    }

    private static void awaitAsked(TckFixture tck, DistributedSemaphore semaphore) {
        tck.await(
                "the backend was asked for a call that waits",
                () -> semaphore.statistics().exchanges() > 0);
    }

    /** A backend that serves clients in their order may tell the first of them alone of a release. */
    @Test
    @Rule({"2.1", "11.2"})
    void aReleaseReachesWhoeverWaitsBehindAClientThatLeft(TckFixture tck) throws Exception {
        SemaphoreClient holding = tck.client(Waiters.hinted(tck));
        SemaphoreClient behind = tck.client(Waiters.hinted(tck));
        List<Departure> departures = new ArrayList<>();
        for (Way way : Way.values()) {
            departures.add(new Departure(tck, way, holding));
        }
        departures.forEach(departure -> awaitAsked(tck, departure.first.semaphore(departure.name)));
        Pause.millis(tck.quiet().toMillis());
        departures.forEach(departure -> departure.queueBehind(behind));
        Pause.millis(tck.quiet().toMillis());
        departures.forEach(Departure::leave);
        // A watch outlasts its last waiter, and so does the place of its client.
        Pause.millis(tck.quiet().multipliedBy(2).toMillis());
        for (Departure departure : departures) {
            departure.assertNextIsServed();
        }
    }

    /** A client may have one place where it listens for all of them. */
    @Test
    @Rule({"2.13", "2.1"})
    void aWaitThatEndsLeavesTheClientsOtherWaitsTheirHints(TckFixture tck) throws Exception {
        List<String> names = List.of(tck.create(1), tck.create(1));
        SemaphoreClient holding = tck.client(Waiters.hinted(tck));
        SemaphoreClient client = tck.client(Waiters.hinted(tck));
        List<Permit> held = new ArrayList<>();
        for (String name : names) {
            held.add(tck.take(holding.semaphore(name), 1).get(0));
            assertThat(client.semaphore(name).tryAcquire()).isEmpty();
        }
        CompletableFuture<Permit> ends = client.semaphore(names.get(0)).acquireAsync();
        tck.proveNothing("a client waits", () -> !ends.isDone());
        // Not long before the release: a client looks again of its own accord after a second and a half, whatever its
        // settings.
        CompletableFuture<Permit> stays = client.semaphore(names.get(1)).acquireAsync();
        Pause.millis(20);
        ends.cancel(true);
        // A watch outlasts its last waiter.
        tck.proveNothing("a client waits where nothing is free", () -> !stays.isDone());
        held.get(1).release();
        Waiters.served(tck, stays, "the end of one wait of a client cost another one its hints")
                .release();
        CompletableFuture<Permit> again = client.semaphore(names.get(0)).acquireAsync();
        tck.proveNothing("a client waits again", () -> !again.isDone());
        held.get(0).release();
        Waiters.served(tck, again, "the end of other waits cost one its hints").release();
        names.forEach(name -> tck.assertFree(name, 1));
    }

    @Test
    @Rule("11.2")
    void whenALargeRequestLeavesThoseBehindItAreServedAtOnce(TckFixture tck) throws Exception {
        String name = tck.create(2);
        Permit held = tck.take(tck.client().semaphore(name), 1).get(0);
        DistributedSemaphore semaphore = tck.client(Waiters.hinted(tck)).semaphore(name);
        for (boolean byInterrupt : new boolean[] {true, false}) {
            Duration wait = byInterrupt ? tck.patience() : tck.quiet().multipliedBy(3);
            Task<PermitGroup> large = tck.spawn("large request", () -> semaphore.acquire(2, wait));
            // The time of the other one may be over before anybody looks.
            if (byInterrupt) {
                large.awaitBlocked();
            } else {
                Pause.millis(tck.quiet().toMillis());
            }
            Task<Permit> small = tck.spawn("small request behind a large one", () -> semaphore.acquire(tck.patience()));
            if (byInterrupt) {
                small.awaitBlocked();
                large.interrupt();
                large.failure(InterruptedException.class);
            } else {
                large.failure(SemaphoreTimeoutException.class);
            }
            Waiters.served(tck, small, large.endedAt(), "those behind a large request that left were not served")
                    .release();
        }
        CompletableFuture<PermitGroup> large = semaphore.acquireAsync(2);
        Task<Permit> small = Waiters.blocked(tck, "small request behind a future", semaphore);
        long since = System.nanoTime();
        large.cancel(true);
        Waiters.served(tck, small, since, "those behind a large request that was cancelled were not served")
                .release();
        held.release();
        tck.assertFree(name, 2);
    }

    /** What a backend noted of the large request must not count for those that are left. */
    @Test
    @Rule("11.2")
    void whenALargeRequestLeavesTheNextReleaseReachesThoseBehindIt(TckFixture tck) throws Exception {
        String name = tck.create(2);
        List<Permit> held = tck.take(tck.client(Waiters.hinted(tck)).semaphore(name), 2);
        DistributedSemaphore semaphore = tck.client(Waiters.hinted(tck)).semaphore(name);
        Task<PermitGroup> large = tck.spawn("large request", () -> semaphore.acquire(2, tck.patience()));
        large.awaitBlocked();
        Task<Permit> small = Waiters.blocked(tck, "small request behind a large one", semaphore);
        large.interrupt();
        large.failure(InterruptedException.class);
        Pause.millis(tck.quiet().toMillis());
        long since = System.nanoTime();
        held.get(0).release();
        Waiters.served(tck, small, since, "a release did not reach those behind a large request that had left")
                .release();
        held.get(1).release();
        tck.assertFree(name, 2);
    }

    /** How a waiting call ends without a permit. */
    private enum Way {
        TIME_OUT(SemaphoreTimeoutException.class),
        INTERRUPT(InterruptedException.class),
        STOP_ACQUIRING(SemaphoreClosedException.class),
        CLOSE(SemaphoreClosedException.class);

        private final Class<? extends Exception> outcome;

        Way(Class<? extends Exception> outcome) {
            this.outcome = outcome;
        }
    }

    /** A client that waits at a semaphore of its own and leaves, and another one behind it. */
    private static final class Departure {
        private final TckFixture tck;
        private final Way way;
        private final String name;
        private final Permit held;
        private final SemaphoreClient first;
        private final Task<Permit> leaving;
        private final List<Task<Permit>> next = new ArrayList<>();

        Departure(TckFixture tck, Way way, SemaphoreClient holding) {
            this.tck = tck;
            this.way = way;
            this.name = tck.create(1);
            this.held = tck.take(holding.semaphore(name), 1).get(0);
            this.first = tck.client(Waiters.hinted(tck));
            Duration wait = way == Way.TIME_OUT ? tck.quiet().multipliedBy(5) : tck.patience();
            this.leaving =
                    tck.spawn("leaves by " + way, () -> first.semaphore(name).acquire(wait));
        }

        void queueBehind(SemaphoreClient behind) {
            next.add(Waiters.blocked(tck, "behind one that leaves by " + way, behind.semaphore(name)));
        }

        void leave() {
            switch (way) {
                case TIME_OUT -> {}
                case INTERRUPT -> leaving.interrupt();
                case STOP_ACQUIRING -> first.stopAcquiring();
                case CLOSE -> first.close();
            }
            Exception unused = leaving.failure(way.outcome);
        }

        void assertNextIsServed() throws Exception {
            long since = System.nanoTime();
            held.release();
            Waiters.served(tck, next.get(0), since, "a release did not reach who waited behind one that left by " + way)
                    .release();
        }
    }
}
