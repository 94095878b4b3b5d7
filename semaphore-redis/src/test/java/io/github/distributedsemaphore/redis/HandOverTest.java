package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

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
import io.lettuce.core.KillArgs;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Slots that a release gives to the first client in the queue, in the same transaction. */
class HandOverTest {
    private static final Hold FAR = new Hold(1, 1L << 58, 1L << 58);

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
        Redis.Waiting second = redis.waiting("jobs");
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
        Redis.Waiting first = redis.waiting("jobs");
        holderLooks();
        first.watch.close();
        Redis.Waiting second = redis.waiting("jobs");
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

    /** The place that it has in the queue is not the one at which it was served. */
    @Test
    void whoIsServedWhileItTakesItsPlaceAgainDoesNotStayInTheQueue() throws Exception {
        List<Hold> holds = takeHolds(holder, 2);
        String giver =
                redis.commands().zrange(redis.layout("jobs").lives(), 0, 0).get(0);
        try (Relay relay = new Relay(RedisServer.address())) {
            String uri = redis.uri().replace(RedisServer.address(), relay.uri());
            SemaphoreBackend remote = redis.track(
                    new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("remote")));
            BackendSession session = redis.session(remote, "jobs", new Redis.Ear());
            assertThat(Redis.await(session, 1).answers()).containsExactly(Answer.FULL);
            CountDownLatch told = new CountDownLatch(1);
            BackendSession.Watch watch = session.watch(told::countDown);
            CountDownLatch placed = relay.holdReplyTo("ZADD");
            CompletableFuture<ExchangeResult> waiting = CompletableFuture.supplyAsync(() -> Redis.await(session, 1));
            assertThat(placed.await(60, TimeUnit.SECONDS)).isTrue();
            handToTheFirst(giver, holds.get(0));
            assertThat(told.await(60, TimeUnit.SECONDS)).isTrue();
            relay.bringReply();

            assertThat(waiting.get(60, TimeUnit.SECONDS).answers().get(0)).isInstanceOf(Answer.Granted.class);
            assertThat(queued()).isZero();
            watch.close();
        }
    }

    /** As a release does, but for the place in the queue, which was taken again since. */
    private void handToTheFirst(String giver, Hold hold) {
        RedisLayout layout = redis.layout("jobs");
        String client = redis.commands().zrange(layout.waiters(), 0, 0).get(0);
        redis.commands().smove(layout.heldBy(giver), layout.heldBy(client), Integer.toString(hold.slot()));
        Hold given = new Hold(hold.slot(), hold.lastEpoch() + 1, hold.lastEpoch() + 1);
        redis.commands().publish(layout.channelOf(client), new Ledger.Offer(client, given).toString());
    }

    /** It tried every three milliseconds. */
    @Test
    void whatNobodyWantsIsNotGivenBackAgainAndAgainWhileTheServerTakesNoConnections() {
        try (RedisServer server = RedisServer.start();
                Redis alone = new Redis(server.uri(), "handOver=true")) {
            SemaphoreBackend client = alone.backend();
            client.admin().create("jobs", 1);
            takeOne(alone.session("jobs"));
            Redis.Ear ear = new Redis.Ear();
            BackendSession waiting = alone.session(client, "jobs", ear);
            assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
            AtomicInteger hints = new AtomicInteger();
            BackendSession.Watch watch = waiting.watch(hints::incrementAndGet);
            assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
            RedisLayout layout = alone.layout("jobs");
            String name = alone.commands().zrange(layout.waiters(), 0, 0).get(0);
            alone.commands().configSet("maxclients", "1");
            // Those that listen to channels stay.
            alone.commands().clientKill(KillArgs.Builder.typeNormal().skipme());
            alone.commands().publish(layout.channelOf(name), new Ledger.Offer(name, FAR).toString());

            await().until(() -> ear.executed.get() > 0);
            await().during(Duration.ofMillis(300)).until(() -> ear.executed.get() <= 2);
            alone.commands().configSet("maxclients", "1000");
            watch.close();
        }
    }

    @Test
    void aMessageThatComesAfterTheSlotWasFoundGivesNothing() {
        List<Hold> holds = takeHolds(holder, 2);
        Redis.Waiting first = redis.waiting("jobs");
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
}
