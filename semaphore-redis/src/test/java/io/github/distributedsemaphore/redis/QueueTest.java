package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
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

    /** A client that waits. */
    private final class Waiting {
        final BackendSession session = redis.session("jobs");
        final AtomicInteger hints = new AtomicInteger();
        final BackendSession.Watch watch;

        Waiting() {
            assertThat(Redis.await(session, 1).answers()).containsExactly(Answer.FULL);
            watch = session.watch(hints::incrementAndGet);
            // As the engine does: from now on the queue says that this client listens.
            assertThat(Redis.await(session, 1).answers()).containsExactly(Answer.FULL);
        }
    }

    private long queued() {
        return redis.commands().zcard(redis.layout("jobs").waiters());
    }

    @Test
    void aReleaseWakesTheFirstInTheQueueAndNobodyElse() {
        List<Hold> holds = takeHolds(holder, 2);
        Waiting first = new Waiting();
        Waiting second = new Waiting();
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
            String uri = redis.uri().replace(RedisServer.address(), relay.uri());
            SemaphoreBackend remote = redis.track(
                    new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("far back")));
            BackendSession last = redis.session(remote, "many", new Redis.Ear());
            Hold own = takeOne(last);
            giveBack(last, own);
            BackendSession rival = redis.session("many");
            List<Hold> all = new ArrayList<>(takeHolds(rival, 100));
            for (int i = 0; i < View.WAITERS; i++) {
                assertThat(Redis.await(redis.session("many"), 1).answers()).containsExactly(Answer.FULL);
            }
            assertThat(Redis.await(last, 1).answers()).containsExactly(Answer.FULL);
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
        Waiting first = new Waiting();
        giveBack(holder, holds.get(0));
        await().until(() -> first.hints.get() > 0);
        first.hints.set(0);
        // Now the holder knows of the waiter beforehand; and its transaction fails, as after the death of a client.
        redis.commands().hincrby(redis.layout("jobs").control(), RedisLayout.CHANGES_FIELD, 1);
        giveBack(holder, holds.get(1));

        await().until(() -> first.hints.get() > 0);
    }

    /** Reads the queue again: what a session knows of it is as old as its last exchange. */
    private void holderLooks() {
        assertThat(take(holder, 1)).isEqualTo(Answer.FULL);
    }

    /** A client that waits and takes what it is given at once, as the engine does. */
    private final class Taking {
        final BackendSession session = redis.session("jobs");
        final CompletableFuture<Hold> taken = new CompletableFuture<>();
        final AtomicInteger calls = new AtomicInteger();
        final BackendSession.Watch watch;

        Taking() {
            ExchangeRequest request = new ExchangeRequest(List.of(), List.of(1), 1, true);
            assertThat(session.exchange(request).answers()).containsExactly(Answer.FULL);
            watch = session.watch(() -> {
                CompletionStage<ExchangeResult> stage = session.start(request);
                if (stage != null) {
                    Future<?> unused = stage.toCompletableFuture().thenAccept(result -> {
                        if (result.answers().get(0) instanceof Answer.Granted granted) {
                            taken.complete(granted.holds().get(0));
                        }
                        calls.incrementAndGet();
                    });
                }
            });
            assertThat(session.exchange(request).answers()).containsExactly(Answer.FULL);
        }
    }

    @Test
    void aReleaseGivesTheSlotToTheFirstThatWaitsWhichTakesItWithoutAsking() throws Exception {
        List<Hold> holds = takeHolds(holder, 2);
        Taking first = new Taking();
        Waiting second = new Waiting();
        holderLooks();
        long transactions = redis.calls("exec");
        giveBack(holder, holds.get(1));

        Hold given = first.taken.get(10, TimeUnit.SECONDS);
        assertThat(redis.calls("exec")).as("the release only").isEqualTo(transactions + 1);
        assertThat(given.slot()).isEqualTo(holds.get(1).slot());
        assertThat(given.epoch()).isGreaterThan(holds.get(1).lastEpoch());
        assertThat(first.session.check(given)).isEqualTo(HoldState.HELD);
        assertThat(backend.admin().describe("jobs").orElseThrow().holders())
                .filteredOn(seen -> seen.slot() == given.slot())
                .extracting(Holder::epoch)
                .containsExactly(given.epoch());
        assertThat(second.hints).hasValue(0);
        assertThat(queued()).isEqualTo(1);
        first.watch.close();
        assertThat(giveBack(first.session, given).lost()).isEmpty();
        await().until(() -> second.hints.get() > 0);
    }

    /** By default nobody is refused because of a client that is only told. */
    @Test
    void withoutHandOverWhatIsGivenBackIsFreeForAnAttemptAtOnce() {
        try (Redis plain = new Redis()) {
            SemaphoreBackend its = plain.backend();
            its.admin().create("jobs", 1);
            BackendSession holding = plain.session(its, "jobs", new Redis.Ear());
            Hold held = takeHolds(holding, 1).get(0);
            BackendSession waiting = plain.session("jobs");
            assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
            BackendSession.Watch watch = waiting.watch(() -> {});
            assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
            giveBack(holding, held);
            BackendSession trying = plain.session("jobs");
            Hold taken = takeHolds(trying, 1).get(0);
            giveBack(trying, taken);
            watch.close();
        }
    }

    @Test
    void aSlotThatIsGivenToAClientThatWaitsNoMoreGoesToTheNext() {
        List<Hold> holds = takeHolds(holder, 2);
        Waiting first = new Waiting();
        holderLooks();
        first.watch.close();
        Waiting second = new Waiting();
        giveBack(holder, holds.get(0));

        await().until(() -> Redis.await(second.session, 1).answers().get(0) instanceof Answer.Granted);
    }

    @Test
    void aSlotThatIsGivenToAClientWhoseMessageIsLostIsFoundByItsNextLook() {
        List<Hold> holds = takeHolds(holder, 2);
        BackendSession deaf = redis.session("jobs");
        assertThat(Redis.await(deaf, 1).answers()).containsExactly(Answer.FULL);
        // The queue says that it listens; it does not.
        String queue = redis.layout("jobs").waiters();
        redis.commands().zincrby(queue, -1, redis.commands().zrange(queue, 0, 0).get(0));
        holderLooks();
        giveBack(holder, holds.get(0));

        Hold found =
                ((Answer.Granted) Redis.await(deaf, 1).answers().get(0)).holds().get(0);
        assertThat(found.slot()).isEqualTo(holds.get(0).slot());
        assertThat(found.epoch()).isGreaterThan(holds.get(0).lastEpoch());
        assertThat(giveBack(deaf, found).lost()).isEmpty();
    }

    @Test
    void aSlotThatIsGivenToAClientThatHasDiedIsFreeWhenItsTimeIsOver() {
        List<Hold> holds = takeHolds(holder, 2);
        BackendSession dying = redis.session("jobs", "detection=1s");
        assertThat(Redis.await(dying, 1).answers()).containsExactly(Answer.FULL);
        assertThat(dying.watch(() -> {})).isNotNull();
        assertThat(Redis.await(dying, 1).answers()).containsExactly(Answer.FULL);
        dying.abort();
        RedisLayout layout = redis.layout("jobs");
        String dead = redis.commands().zrange(layout.waiters(), 0, 0).get(0);
        String giver = redis.commands().zrange(layout.lives(), 0, -1).stream()
                .filter(client -> !client.equals(dead))
                .findFirst()
                .orElseThrow();
        redis.commands()
                .smove(
                        layout.heldBy(giver),
                        layout.heldBy(dead),
                        Integer.toString(holds.get(0).slot()));

        BackendSession heir = redis.session("jobs", "detection=1s");
        await().until(() -> take(heir, 1) instanceof Answer.Granted);
    }

    /** As an administrator takes a slot from a dead host, but this holder is alive. */
    @Test
    void aSlotThatItsHolderDoesNotHaveAnyMoreIsGivenToNobody() {
        List<Hold> holds = takeHolds(holder, 2);
        RedisLayout layout = redis.layout("jobs");
        String client = redis.commands().zrange(layout.lives(), 0, 0).get(0);
        Taking waiting = new Taking();
        redis.commands().multi();
        redis.commands()
                .smove(
                        layout.heldBy(client),
                        layout.free(),
                        Integer.toString(holds.get(0).slot()));
        redis.commands().hincrby(layout.control(), RedisLayout.CHANGES_FIELD, 1);
        redis.commands().exec();
        BackendSession other = redis.session("jobs");
        Hold successor = takeOne(other);
        assertThat(successor.slot()).isEqualTo(holds.get(0).slot());

        holderLooks();
        assertThat(giveBack(holder, holds.get(0)).lost()).containsExactly(holds.get(0));
        // What was published before comes before.
        redis.commands().publish(layout.channelOfAll(), Ledger.Offer.HINT);
        await().until(() -> waiting.calls.get() > 0);
        assertThat(waiting.taken).isNotDone();
        assertThat(other.check(successor)).isEqualTo(HoldState.HELD);
    }

    @Test
    void aMessageThatComesAfterTheSlotWasFoundGivesNothing() {
        List<Hold> holds = takeHolds(holder, 2);
        Waiting first = new Waiting();
        String client =
                redis.commands().zrange(redis.layout("jobs").waiters(), 0, 0).get(0);
        holderLooks();
        giveBack(holder, holds.get(0));
        Hold given = ((Answer.Granted) Redis.await(first.session, 1).answers().get(0))
                .holds()
                .get(0);
        giveBack(first.session, given);
        Hold successor = takeHolds(redis.session("jobs"), 1).get(0);
        first.hints.set(0);
        redis.commands().publish(redis.layout("jobs").channelOf(client), new Ledger.Offer(client, given).toString());
        await().until(() -> first.hints.get() > 0);

        assertThat(successor.slot()).isEqualTo(given.slot());
        assertThat(Redis.await(first.session, 1).answers()).containsExactly(Answer.FULL);
    }

    @Test
    void aClientThatWaitsForSeveralIsNotGivenOneAlone() {
        List<Hold> holds = takeHolds(holder, 2);
        BackendSession waiter = redis.session("jobs");
        assertThat(Redis.await(waiter, 2).answers()).containsExactly(Answer.FULL);
        holderLooks();
        giveBack(holder, holds.get(0));
        assertThat(redis.held("jobs")).isEqualTo(1);
        assertThat(take(redis.session("jobs"), 1)).isInstanceOf(Answer.Granted.class);
    }

    /** Or else others would be refused while nobody holds it. */
    @Test
    void whoWantsTwoDoesNotTakeTheOneThatIsLeftOfThoseItWasToldOf() {
        List<Hold> holds = takeHolds(holder, 2);
        BackendSession waiter = redis.session("jobs");
        assertThat(Redis.await(waiter, 2).answers()).containsExactly(Answer.FULL);
        AtomicInteger hints = new AtomicInteger();
        BackendSession.Watch watch = waiter.watch(hints::incrementAndGet);
        holds.forEach(hold -> giveBack(holder, hold));
        await().until(() -> hints.get() == 2);
        takeHolds(holder, 1);
        Map<String, String> epochs =
                redis.commands().hgetall(redis.layout("jobs").epochs());
        assertThat(Redis.await(waiter, 2).answers()).containsExactly(Answer.FULL);
        assertThat(redis.commands().hgetall(redis.layout("jobs").epochs()))
                .as("epochs, which rise with each grant")
                .isEqualTo(epochs);
        watch.close();
    }

    @Test
    void whoWaitsDoesNotOvertakeButWhoAsksOnceTakesWhatIsFree() {
        List<Hold> holds = takeHolds(holder, 2);
        Waiting first = new Waiting();
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
        Waiting first = new Waiting();
        Waiting second = new Waiting();
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
        Waiting waiting = new Waiting();
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
        Waiting first = new Waiting();
        Waiting second = new Waiting();
        giveBack(holder, holds.get(0));
        ExchangeResult result = Redis.tryBesideWaiters(second.session, 2, 1);

        assertThat(result.answers()).containsExactly(Answer.FULL, Answer.FULL);
        assertThat(Redis.await(first.session, 1).answers().get(0)).isInstanceOf(Answer.Granted.class);
    }

    @Test
    void whoIsCalledAndDoesNotComeHoldsTheOthersUpForAMomentOnly() {
        List<Hold> holds = takeHolds(holder, 2);
        new Waiting();
        Waiting second = new Waiting();
        giveBack(holder, holds.get(0));

        await().until(() -> Redis.await(second.session, 1).answers().get(0) instanceof Answer.Granted);
    }

    @Test
    void whoStopsToWaitPassesACallOn() {
        List<Hold> holds = takeHolds(holder, 2);
        Waiting first = new Waiting();
        Waiting second = new Waiting();
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
        List<Waiting> all = new ArrayList<>(List.of(new Waiting(), new Waiting(), new Waiting()));
        holder.close();
        await().until(() -> all.get(0).hints.get() > 0 && all.get(1).hints.get() > 0);
        assertThat(all.get(2).hints).hasValue(0);
    }

    @Test
    void growingAndDestroyingWakeEverybody() {
        takeHolds(holder, 2);
        Waiting first = new Waiting();
        Waiting second = new Waiting();
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
        Waiting first = new Waiting();
        Waiting second = new Waiting();
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
        Waiting first = new Waiting();
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
