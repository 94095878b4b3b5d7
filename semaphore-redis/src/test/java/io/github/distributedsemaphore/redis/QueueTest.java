package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The queue of clients: who is woken, who may take what is free, and who is out of it. */
class QueueTest {
    private Redis redis;
    private SemaphoreBackend backend;
    private BackendSession holder;

    @BeforeEach
    void open() {
        redis = new Redis(RedisServer.address(), "handOver=true");
        backend = redis.backend();
        backend.admin().create("jobs", 2);
        holder = redis.session(backend, "jobs", new Redis.Ear());
    }

    @AfterEach
    void close() {
        redis.close();
    }

    private long queued() {
        return redis.commands().zcard(redis.layout("jobs").waiters());
    }

    @Test
    void aReleaseWakesTheFirstInTheQueueAndNobodyElse() {
        List<Hold> holds = takeHolds(holder, 2);
        Redis.Waiting first = redis.waiting("jobs");
        Redis.Waiting second = redis.waiting("jobs");
        giveBack(holder, holds.get(0));

        await().until(() -> first.hints.get() > 0);
        ExchangeResult result = Redis.await(first.session, 1);
        Hold granted = ((Answer.Granted) result.answers().get(0)).holds().get(0);
        assertThat(granted.slot()).isEqualTo(holds.get(0).slot());
        assertThat(result.othersWaiting()).isTrue();
        assertThat(second.hints).hasValue(0);
        assertThat(queued()).isEqualTo(1);
        giveBack(holder, holds.get(1));
        await().until(() -> second.hints.get() > 0);
        assertThat(Redis.await(second.session, 1).othersWaiting()).isFalse();
        assertThat(queued()).isZero();
    }

    /** More than are read of the queue stand before it, and more slots are free than it reads. */
    @Test
    void whoIsFarBackAndMissesASlotDoesNotTryTheNextAtOnce() throws Exception {
        backend.admin().create("many", 100);
        try (Relay relay = new Relay(RedisServer.address())) {
            BackendSession last = behind(relay, "many");
            Hold own = takeOne(last);
            giveBack(last, own);
            BackendSession rival = redis.session("many");
            List<Hold> all = new ArrayList<>(takeHolds(rival, 100));
            sendFarBack(last, "many", 1);
            all.sort(Comparator.comparing(hold -> hold.slot() != own.slot()));
            giveBack(rival, all.subList(0, View.WAITERS + 1).toArray(Hold[]::new));

            CountDownLatch reached = relay.holdAt("SMOVE");
            Future<ExchangeResult> looking = CompletableFuture.supplyAsync(() -> Redis.await(last, 1));
            assertThat(reached.await(60, TimeUnit.SECONDS)).isTrue();
            List<Hold> taken = new ArrayList<>(takeHolds(rival, View.WAITERS + 1));
            taken.removeIf(hold -> hold.slot() == own.slot());
            giveBack(rival, taken.toArray(Hold[]::new));
            giveBack(rival, all.subList(50, 80).toArray(Hold[]::new));
            relay.goOn();

            assertThat(looking.get(60, TimeUnit.SECONDS).answers()).containsExactly(Answer.FULL);
        }
    }

    private BackendSession behind(Relay relay, String name) {
        String uri = redis.uri().replace(RedisServer.address(), relay.uri());
        SemaphoreBackend remote = redis.track(
                new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("far back")));
        return redis.session(remote, name, new Redis.Ear());
    }

    /** Has the session wait behind as many clients as are read of the queue, each of which wants so many permits. */
    private void sendFarBack(BackendSession last, String name, int each) {
        for (int i = 0; i < View.WAITERS; i++) {
            // None of them is taken for dead meanwhile.
            BackendSession before = redis.session(name, "detection=1m");
            assertThat(Redis.await(before, each).answers()).containsExactly(Answer.FULL);
        }
        assertThat(Redis.await(last, 1).answers()).containsExactly(Answer.FULL);
    }

    /** Or else a client would wait for as long as groups before it find too few. */
    @Test
    void whoIsFarBackTakesWhatIsLeftIfTheQueueDoesNotMove() {
        backend.admin().create("groups", View.WAITERS + 4);
        takeHolds(redis.session("groups"), 5);
        BackendSession last = redis.session("groups");
        sendFarBack(last, "groups", View.WAITERS);

        await().until(() -> Redis.await(last, 1).answers().get(0) instanceof Answer.Granted);
    }

    /** Of many free slots a client reads as many as those before it may take, and those that it wants. */
    @Test
    void whoIsFarBackReadsEnoughAgainAfterATransactionThatFailed() throws Exception {
        backend.admin().create("many", 100);
        try (Relay relay = new Relay(RedisServer.address())) {
            BackendSession last = behind(relay, "many");
            BackendSession rival = redis.session("many");
            List<Hold> all = takeHolds(rival, 100);
            sendFarBack(last, "many", 2);
            giveBack(rival, all.subList(0, 40).toArray(Hold[]::new));
            CountDownLatch reached = relay.holdAt("SMOVE");
            Future<ExchangeResult> looking = CompletableFuture.supplyAsync(() -> Redis.await(last, 1));
            assertThat(reached.await(60, TimeUnit.SECONDS)).isTrue();
            redis.commands().hincrby(redis.layout("many").control(), RedisLayout.CHANGES_FIELD, 1);
            relay.goOn();

            assertThat(looking.get(60, TimeUnit.SECONDS).answers().get(0)).isInstanceOf(Answer.Granted.class);
        }
    }

    /** Of thousands that look at once all would try for the lowest, and most of them would miss it. */
    @Test
    void whoIsFarBackTriesAnyFreeSlot() {
        backend.admin().create("few", 60);
        BackendSession rival = redis.session("few");
        List<Hold> all = takeHolds(rival, 60);
        List<BackendSession> waiting = new ArrayList<>();
        for (int i = 0; i < 2 * View.WAITERS + 8; i++) {
            BackendSession session = redis.session("few");
            assertThat(Redis.await(session, 1).answers()).containsExactly(Answer.FULL);
            waiting.add(session);
        }
        // The first of them are handed a slot each, and as many still wait before the last eight.
        giveBack(rival, all.subList(0, 40).toArray(Hold[]::new));

        List<Integer> slots = waiting.subList(2 * View.WAITERS, waiting.size()).stream()
                .map(session -> ((Answer.Granted)
                                Redis.await(session, 1).answers().get(0))
                        .holds()
                        .get(0)
                        .slot())
                .toList();

        assertThat(slots).isNotEqualTo(slots.stream().sorted().toList());
    }

    /** What a waiting client costs the server is mostly what those far back ask. */
    @Test
    void whoIsFarBackAsksLittle() {
        takeHolds(holder, 2);
        List<BackendSession> sessions = new ArrayList<>();
        for (int i = 0; i <= View.WAITERS; i++) {
            BackendSession session = redis.session("jobs");
            assertThat(Redis.await(session, 1).answers()).containsExactly(Answer.FULL);
            sessions.add(session);
        }
        BackendSession last = sessions.get(View.WAITERS);
        long watches = redis.calls("watch");
        long looks = redis.calls("zrange");
        for (int i = 0; i < 5; i++) {
            assertThat(Redis.await(last, 1).answers()).containsExactly(Answer.FULL);
        }
        assertThat(redis.calls("watch")).isEqualTo(watches);
        assertThat(redis.calls("zrange") - looks).isEqualTo(10);

        // It notices what changes for it all the same.
        backend.admin().destroy("jobs");
        assertThat(Redis.await(last, 1).answers()).containsExactly(Answer.MISSING);
    }

    @Test
    void aReleaseThatIsRepeatedWakesAllTheSame() {
        List<Hold> holds = takeHolds(holder, 2);
        Redis.Waiting first = redis.waiting("jobs");
        giveBack(holder, holds.get(0));
        await().until(() -> first.hints.get() > 0);
        first.hints.set(0);
        // Now the holder knows of the waiter beforehand; and its transaction fails, as after the death of a client.
        redis.commands().hincrby(redis.layout("jobs").control(), RedisLayout.CHANGES_FIELD, 1);
        giveBack(holder, holds.get(1));

        await().until(() -> first.hints.get() > 0);
    }

    /** Or else others would be refused while nobody holds it. */
    @Test
    void whoWantsTwoDoesNotTakeTheOneThatIsLeftOfThoseItWasToldOf() {
        List<Hold> holds = takeHolds(holder, 2);
        Redis.Waiting waiter = redis.waiting("jobs", 2);
        holds.forEach(hold -> giveBack(holder, hold));
        await().until(() -> waiter.hints.get() == 2);
        takeHolds(holder, 1);
        Map<String, String> epochs =
                redis.commands().hgetall(redis.layout("jobs").epochs());
        assertThat(Redis.await(waiter.session, 2).answers()).containsExactly(Answer.FULL);
        assertThat(redis.commands().hgetall(redis.layout("jobs").epochs()))
                .as("epochs, which rise with each grant")
                .isEqualTo(epochs);
        waiter.watch.close();
    }

    /** Once for each call: or else each look of a client that wants too much would cost the others one. */
    @Test
    void whoIsCalledAndWantsMoreThanIsFreeCallsTheNext() {
        List<Hold> holds = takeHolds(holder, 2);
        Redis.Waiting first = redis.waiting("jobs", 2);
        Redis.Waiting second = redis.waiting("jobs");
        giveBack(holder, holds.get(0));
        await().until(() -> first.hints.get() > 0);
        assertThat(Redis.await(first.session, 2).answers()).containsExactly(Answer.FULL);
        await().until(() -> second.hints.get() > 0);
        assertThat(Redis.await(first.session, 2).answers()).containsExactly(Answer.FULL);
        await().until(() -> Redis.await(second.session, 1).answers().get(0) instanceof Answer.Granted);
        assertThat(second.hints).hasValue(1);
        assertThat(queued()).isEqualTo(1);
    }

    @Test
    void whoWaitsDoesNotOvertakeButWhoAsksOnceTakesWhatIsFree() {
        List<Hold> holds = takeHolds(holder, 2);
        Redis.Waiting first = redis.waiting("jobs");
        giveBack(holder, holds.get(0));
        long start = System.nanoTime();
        ExchangeResult refused = Redis.await(holder, 1);
        assumeTrue(
                System.nanoTime() - start < Planner.PATIENCE_NANOS,
                "the look took so long that the first in the queue has had its time");

        assertThat(refused.answers()).containsExactly(Answer.FULL);
        assertThat(refused.othersWaiting()).isTrue();
        assertThat(take(redis.session("jobs"), 1)).isInstanceOf(Answer.Granted.class);
        assertThat(Redis.await(first.session, 1).answers()).containsExactly(Answer.FULL);
    }

    @Test
    void whoAsksOnceTakesWhatIsFreeAlsoIfItsClientHasWaitersBehindOthers() {
        List<Hold> holds = takeHolds(holder, 2);
        Redis.Waiting first = redis.waiting("jobs");
        Redis.Waiting second = redis.waiting("jobs");
        List<String> order = redis.commands().zrange(redis.layout("jobs").waiters(), 0, -1);
        giveBack(holder, holds.get(0));
        ExchangeResult result = Redis.tryBesideWaiters(second.session, 1, 1);

        assertThat(result.answers().get(0)).isInstanceOf(Answer.Granted.class);
        assertThat(result.answers().get(1)).isEqualTo(Answer.FULL);
        assertThat(redis.commands().zrange(redis.layout("jobs").waiters(), 0, -1))
                .as("the waiters of both keep their places")
                .isEqualTo(order);
        giveBack(holder, holds.get(1));
        assertThat(Redis.await(first.session, 1).answers().get(0)).isInstanceOf(Answer.Granted.class);
    }

    @Test
    void anAttemptThatSucceedsDoesNotTakeItsClientsWaitersOutOfTheQueue() {
        List<Hold> holds = takeHolds(holder, 2);
        Redis.Waiting waiting = redis.waiting("jobs");
        giveBack(holder, holds.get(0));
        await().until(() -> waiting.hints.get() > 0);
        ExchangeResult result = Redis.tryBesideWaiters(waiting.session, 1);
        assertThat(result.answers().get(0)).isInstanceOf(Answer.Granted.class);

        assertThat(queued()).isEqualTo(1);
        waiting.hints.set(0);
        giveBack(holder, holds.get(1));
        await().until(() -> waiting.hints.get() > 0);
    }

    @Test
    void aRefusedAttemptLeavesWhatIsFreeToThoseWhoWait() {
        List<Hold> holds = takeHolds(holder, 2);
        Redis.Waiting first = redis.waiting("jobs");
        Redis.Waiting second = redis.waiting("jobs");
        giveBack(holder, holds.get(0));
        ExchangeResult result = Redis.tryBesideWaiters(second.session, 2, 1);

        assertThat(result.answers()).containsExactly(Answer.FULL, Answer.FULL);
        assertThat(Redis.await(first.session, 1).answers().get(0)).isInstanceOf(Answer.Granted.class);
    }

    @Test
    void whoIsCalledAndDoesNotComeHoldsTheOthersUpForAMomentOnly() {
        List<Hold> holds = takeHolds(holder, 2);
        redis.waiting("jobs");
        Redis.Waiting second = redis.waiting("jobs");
        giveBack(holder, holds.get(0));

        await().until(() -> Redis.await(second.session, 1).answers().get(0) instanceof Answer.Granted);
    }

    @Test
    void whoStopsToWaitPassesACallOn() {
        List<Hold> holds = takeHolds(holder, 2);
        Redis.Waiting first = redis.waiting("jobs");
        Redis.Waiting second = redis.waiting("jobs");
        giveBack(holder, holds.get(0));
        await().until(() -> first.hints.get() > 0);
        first.watch.close();

        await().until(() -> second.hints.get() > 0);
        assertThat(queued()).isEqualTo(1);
    }

    /** Two clients know the server's time to about a millisecond, so their order would prove nothing here. */
    @Test
    void whoStopsToWaitAndWaitsAgainHasNotWaitedSinceTheFirstTime() {
        takeHolds(holder, 2);
        BackendSession waiting = redis.session("jobs");
        String queue = redis.layout("jobs").waiters();
        assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
        double before = redis.commands().zrangeWithScores(queue, 0, 0).get(0).getScore();
        assertThat(take(waiting, 1)).isEqualTo(Answer.FULL);
        assertThat(queued()).isZero();

        assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
        assertThat(redis.commands().zrangeWithScores(queue, 0, 0).get(0).getScore())
                .isNotEqualTo(before);
    }

    @Test
    void aClosedHolderWakesAsManyAsItHadSlots() {
        takeHolds(holder, 2);
        List<Redis.Waiting> all =
                new ArrayList<>(List.of(redis.waiting("jobs"), redis.waiting("jobs"), redis.waiting("jobs")));
        holder.close();
        await().until(() -> all.get(0).hints.get() > 0 && all.get(1).hints.get() > 0);
        assertThat(all.get(2).hints).hasValue(0);
    }

    @Test
    void growingAndDestroyingWakeEverybody() {
        takeHolds(holder, 2);
        Redis.Waiting first = redis.waiting("jobs");
        Redis.Waiting second = redis.waiting("jobs");
        backend.admin().resize("jobs", 4);
        await().until(() -> first.hints.get() > 0 && second.hints.get() > 0);
        assertThat(Redis.await(second.session, 1).answers().get(0)).isInstanceOf(Answer.Granted.class);
        first.hints.set(0);
        backend.admin().destroy("jobs");
        await().until(() -> first.hints.get() > 0);
        assertThat(Redis.await(first.session, 1).answers()).containsExactly(Answer.MISSING);
    }

    @Test
    void whoGotSomethingGoesToTheEndOfTheQueue() {
        List<Hold> holds = takeHolds(holder, 2);
        Redis.Waiting first = redis.waiting("jobs");
        Redis.Waiting second = redis.waiting("jobs");
        giveBack(holder, holds.get(0));
        ExchangeResult result = Redis.await(first.session, 1, 1);
        assertThat(result.answers().get(1)).isEqualTo(Answer.FULL);
        giveBack(holder, holds.get(1));
        await().until(() -> second.hints.get() > 0);
        assertThat(Redis.await(second.session, 1).answers().get(0)).isInstanceOf(Answer.Granted.class);
    }

    @Test
    void aPlaceInAQueueThatWasRemovedIsTakenUpAgain() {
        takeHolds(holder, 2);
        Redis.Waiting first = redis.waiting("jobs");
        redis.commands().del(redis.layout("jobs").waiters());
        assertThat(Redis.await(first.session, 1).answers()).containsExactly(Answer.FULL);
        assertThat(queued()).isEqualTo(1);
    }

    /** As many as are read of the queue stand in the new one before the session looks. */
    @Test
    void aPlaceInAQueueThatWasRemovedIsTakenUpAgainBehindOthers() {
        takeHolds(holder, 1);
        BackendSession waiting = redis.session("jobs");
        takeOne(waiting);
        assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
        backend.admin().destroy("jobs");
        backend.admin().create("jobs", 2);
        for (int i = 0; i < View.WAITERS; i++) {
            assertThat(Redis.await(redis.session("jobs"), 1).answers()).containsExactly(Answer.FULL);
        }
        assertThat(queued()).isEqualTo(View.WAITERS);

        assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
        assertThat(queued()).isEqualTo(View.WAITERS + 1);
    }
}
