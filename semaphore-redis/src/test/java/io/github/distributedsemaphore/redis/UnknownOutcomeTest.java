package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.redis.RedisLayout.HoldNote;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Transactions whose reply is lost, and transactions that come late. */
class UnknownOutcomeTest {
    Redis redis;
    private Relay relay;
    private SemaphoreBackend shaky;
    private BackendSession session;
    private BackendSession rival;

    @BeforeEach
    void open() {
        redis = new Redis();
        redis.backend().admin().create("jobs", 3);
        relay = new Relay(RedisServer.address());
        String uri = through(relay, redis, RedisServer.address(), "detection=3s");
        shaky = new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("shaky"));
        session = shaky.open("jobs", new Redis.Ear());
        rival = redis.session("jobs");
    }

    private String through(Relay link, Redis server, String address, String setting) {
        return as(server, server.uri(setting).replace(address, link.uri()));
    }

    /** The URI for the user of these tests. */
    String as(Redis server, String uri) {
        return uri;
    }

    /** How many transactions a client sends at most, on average, to find out what it has. */
    long mostTransactions() {
        return 3;
    }

    @AfterEach
    void close() {
        session.close();
        shaky.close();
        relay.close();
        redis.close();
    }

    private static ExchangeRequest request(List<Hold> giveBack, Integer... wants) {
        return new ExchangeRequest(giveBack, List.of(wants), 10, false);
    }

    private ExchangeResult unknownThenResolved(ExchangeRequest request) {
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(OutcomeUnknownException.class);
        return session.resolve(request);
    }

    private long held() {
        return redis.held("jobs");
    }

    @Test
    void aGrantWhoseReplyIsLostIsFound() {
        Hold before = takeOne(session);
        relay.loseReplies();
        ExchangeResult result = unknownThenResolved(request(List.of(), 1));

        assertThat(relay.lostBytes()).isPositive();
        Hold found = ((Answer.Granted) result.answers().get(0)).holds().get(0);
        assertThat(held()).isEqualTo(2);
        // The shared connection was deaf as well.
        await().ignoreExceptions().until(() -> session.check(found) == HoldState.HELD);
        assertThat(found.slot()).isNotEqualTo(before.slot());
        assertThat(found.lastEpoch() - found.epoch()).isEqualTo(9);
        Renewal renewal =
                await().ignoreExceptions().until(() -> session.renew(List.of(before, found)), Objects::nonNull);
        assertThat(renewal.lost()).isEmpty();
        giveBack(session, found);
        Hold next = takeHolds(rival, 2).stream()
                .filter(hold -> hold.slot() == found.slot())
                .findFirst()
                .orElseThrow();
        assertThat(next.epoch()).isGreaterThan(found.lastEpoch());
    }

    @Test
    void aReleaseWhoseReplyIsLostIsDoneOnce() {
        Hold hold = takeOne(session);
        relay.loseReplies();
        ExchangeRequest request = request(List.of(hold));
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(OutcomeUnknownException.class);
        await().until(() -> held() == 0);
        Hold successor = takeOne(rival);

        assertThat(successor.slot()).isEqualTo(hold.slot());
        assertThat(session.resolve(request).lost()).isEmpty();
        assertThat(rival.check(successor)).isEqualTo(HoldState.HELD);
    }

    @Test
    void aRefusalIsNeverGivenWithoutALookAlsoIfSomethingWasGivenBack() {
        Hold hold = takeOne(session);
        takeHolds(rival, 2);
        assertThat(take(session, 2)).isEqualTo(Answer.FULL);
        ExchangeRequest request = request(List.of(hold), 2);
        CountDownLatch looks = relay.holdAt("UNWATCH");
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(BackendUnavailableException.class);
        assertThat(looks.getCount()).isZero();
        assertThat(held()).as("the release was done").isEqualTo(2);
        relay.holdNothing();

        ExchangeResult again = session.exchange(request);
        assertThat(again.lost()).isEmpty();
        assertThat(again.answers()).containsExactly(Answer.FULL);
    }

    @Test
    void aTransactionThatComesAfterItWasResolvedTakesNothing() {
        takeOne(session);
        relay.keepRequests();
        ExchangeResult result = unknownThenResolved(request(List.of(), 1));

        assertThat(result.answers()).containsExactly(Answer.NOT_DONE);
        assertThat(held()).isEqualTo(1);
        deliverAndAwaitIt();
        assertThat(held()).isEqualTo(1);
    }

    @Test
    void theFirstTransactionOfASessionThatComesAfterItWasResolvedTakesNothing() {
        session.exchange(request(List.of()));
        relay.keepRequests();
        ExchangeResult result = unknownThenResolved(request(List.of(), 1));

        assertThat(result.answers()).containsExactly(Answer.NOT_DONE);
        deliverAndAwaitIt();
        assertThat(held()).isZero();
    }

    @Test
    void theFirstTransactionOfASessionThatComesAfterItsCloseTakesNothing() {
        session.exchange(request(List.of()));
        relay.keepRequests();
        assertThatThrownBy(() -> session.exchange(request(List.of(), 1))).isInstanceOf(OutcomeUnknownException.class);
        session.close();
        deliverAndAwaitIt();
        assertThat(held()).isZero();
    }

    @Test
    void aReleaseThatComesAfterItWasResolvedFreesNobodyElsesSlot() {
        Hold hold = takeOne(session);
        relay.keepRequests();
        ExchangeResult result = unknownThenResolved(request(List.of(hold)));
        assertThat(result.lost()).isEmpty();
        Hold successor = takeOne(rival);
        assertThat(successor.slot()).isEqualTo(hold.slot());

        deliverAndAwaitIt();
        assertThat(rival.check(successor)).isEqualTo(HoldState.HELD);
        assertThat(takeHolds(rival, 2)).hasSize(2);
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
    }

    /** Puts a slot into the session's set of which it does not know, and holds up the request with which it goes back. */
    private void holdWhatGoesBackInTheBackground(BackendSession tidy, Hold own) throws InterruptedException {
        RedisLayout layout = redis.layout("jobs");
        String client = redis.commands().zrange(layout.lives(), 0, 0).get(0);
        String unknown = redis.commands().srandmember(layout.free());
        redis.commands().smove(layout.free(), layout.heldBy(client), unknown);
        CountDownLatch sent = relay.holdAt("SMOVE");
        tidy.renew(List.of(own));
        assertThat(sent.await(60, TimeUnit.SECONDS)).isTrue();
        relay.holdNothing();
    }

    /** A session gives back what it does not want in the background, and goes on although it hears nothing of that. */
    @Test
    void whatIsGivenBackInTheBackgroundAndComesLateFreesNothing() throws Exception {
        String uri = through(relay, redis, RedisServer.address(), "timeout=1s");
        try (SemaphoreBackend backend =
                new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("tidy"))) {
            BackendSession tidy = redis.session(backend, "jobs", new Redis.Ear());
            Hold own = takeOne(tidy);
            holdWhatGoesBackInTheBackground(tidy, own);

            // Until the session gives up the reply, its connection is busy.
            List<Hold> others = await().ignoreException(BackendUnavailableException.class)
                    .until(() -> takeHolds(tidy, 2), holds -> holds.size() == 2);
            deliverAndAwaitIt();
            assertThat(held()).isEqualTo(3);
            assertThat(tidy.check(others.get(0))).isEqualTo(HoldState.HELD);
            assertThat(tidy.check(others.get(1))).isEqualTo(HoldState.HELD);
        }
    }

    /** A session that takes another name takes its deadline along. */
    @Test
    void whatARenewalPromisedWhileAnOutcomeWasFoundOutIsKept() throws Exception {
        Hold hold = takeOne(session);
        relay.loseReplies();
        assertThatThrownBy(() -> session.exchange(request(List.of(), 1))).isInstanceOf(OutcomeUnknownException.class);
        await().ignoreExceptions().until(() -> session.check(hold) == HoldState.HELD);
        CountDownLatch read = relay.holdReplyTo("UNWATCH");
        Future<ExchangeResult> found = CompletableFuture.supplyAsync(() -> session.resolve(request(List.of(), 1)));
        assertThat(read.await(60, TimeUnit.SECONDS)).isTrue();
        double promised = 0;
        try {
            session.renew(List.of(hold));
            promised = deadline();
        } catch (BackendUnavailableException e) {
            // It promises nothing.
        }
        relay.bringReply();

        assertThat(found.get(60, TimeUnit.SECONDS).answers().get(0)).isInstanceOf(Answer.Granted.class);
        assertThat(deadline()).isGreaterThanOrEqualTo(promised);
    }

    /** A session that takes another name takes the end of its records along, before anybody looks what is left. */
    @Test
    void whileAnOutcomeIsFoundOutNothingOfADestroyedSemaphoreIsWithoutAnEnd() throws Exception {
        List<Hold> holds = takeHolds(session, 2);
        redis.backend().admin().destroy("jobs");
        relay.loseReplies();
        ExchangeRequest request = request(holds.subList(0, 1));
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(OutcomeUnknownException.class);
        CountDownLatch sweeping = relay.holdAt("EXISTS");
        Future<ExchangeResult> found = CompletableFuture.supplyAsync(() -> session.resolve(request));
        assertThat(sweeping.await(60, TimeUnit.SECONDS)).isTrue();

        assertThat(redis.keys()).isNotEmpty().allMatch(key -> redis.commands().pttl(key) > 0);
        relay.goOn();
        assertThat(found.get(60, TimeUnit.SECONDS).lost()).isEmpty();
    }

    /** Until when the only client lives. */
    private double deadline() {
        return redis.commands()
                .zrangeWithScores(redis.layout("jobs").lives(), 0, 0)
                .get(0)
                .getScore();
    }

    /** By the time the first release is found out, the slot has been with another client and came from there. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSlotThatCameBackIsNotGivenBackAgain(boolean told) throws Exception {
        String uri = through(relay, redis, RedisServer.address(), "timeout=1s&handOver=true");
        try (SemaphoreBackend backend =
                new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("again"))) {
            BackendSession again = redis.session(backend, "jobs", new Idle());
            Hold own = takeOne(again);
            takeHolds(rival, 2);
            assertThat(Redis.await(redis.session("jobs"), 1).answers()).containsExactly(Answer.FULL);
            AtomicInteger hints = new AtomicInteger();
            BackendSession.Watch watch = again.watch(hints::incrementAndGet);
            assertThat(Redis.await(again, 1).answers()).containsExactly(Answer.FULL);
            RedisLayout layout = redis.layout("jobs");
            String client = redis.commands().zrange(layout.waiters(), 1, 1).get(0);
            CountDownLatch done = relay.holdReplyTo("SMOVE");
            ExchangeRequest request = new ExchangeRequest(List.of(own), List.of(1), 1, true);
            assertThatThrownBy(() -> again.exchange(request)).isInstanceOf(OutcomeUnknownException.class);
            assertThat(done.await(60, TimeUnit.SECONDS)).isTrue();

            Hold given = new Hold(own.slot(), own.lastEpoch() + 2, own.lastEpoch() + 2);
            handOver(client, given);
            if (told) {
                hints.set(0);
                redis.commands().publish(layout.channelOf(client), new Ledger.Offer(client, given).toString());
                await().until(() -> hints.get() > 0);
            }
            assertThat(again.resolve(request).answers()).containsExactly(new Answer.Granted(List.of(given)));
            assertThat(again.check(given)).isEqualTo(HoldState.HELD);
            watch.close();
        }
    }

    /** Does what another client does that had the slot and hands it over, but for the message. */
    private void handOver(String client, Hold given) {
        RedisLayout layout = redis.layout("jobs");
        String slot = Integer.toString(given.slot());
        long base = Long.parseLong(redis.commands().hget(layout.control(), RedisLayout.BASE_FIELD));
        redis.commands().hincrby(layout.epochs(), slot, 2);
        redis.commands().hset(layout.notesOf(client), slot, new HoldNote(1, base, 0, given.epoch()).toString());
        redis.commands().zrem(layout.waiters(), client);
        assertThat(redis.commands().smove(layout.free(), layout.heldBy(client), slot))
                .isTrue();
    }

    /** Does nothing in the background. */
    private static final class Idle implements SessionListener {
        @Override
        public void execute(Runnable task) {}

        @Override
        public void lost(Collection<Hold> holds, String reason) {}

        @Override
        public void ended(String reason) {}
    }

    @Test
    void whatCouldNotBeGivenBackInTheBackgroundGoesBackWithoutAnotherCall() throws Exception {
        String uri = through(relay, redis, RedisServer.address(), "timeout=1s");
        try (SemaphoreBackend backend =
                new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("tidy"))) {
            BackendSession tidy = redis.session(backend, "jobs", new Redis.Ear());
            Hold own = takeOne(tidy);
            holdWhatGoesBackInTheBackground(tidy, own);

            await().ignoreException(BackendUnavailableException.class).until(() -> {
                assertThat(tidy.renew(List.of(own)).lost()).isEmpty();
                return held() == 1;
            });
        }
    }

    @Test
    void manyClientsWithoutAReplyDoNotHinderEachOtherForLong() throws Exception {
        int clients = 80;
        try (RedisServer alone = RedisServer.start();
                Redis crowd = new Redis(alone.uri());
                Relay shared = new Relay(alone.uri())) {
            crowd.backend().admin().create("jobs", clients);
            List<BackendSession> sessions = crowdBehind(shared, alone, crowd, clients);
            shared.loseReplies();
            // On a busy machine a client may have to read first: then it knows that nothing was done.
            all(
                    sessions,
                    session -> assertThatThrownBy(() -> session.exchange(request(List.of(), 1)))
                            .isInstanceOfAny(OutcomeUnknownException.class, BackendUnavailableException.class));
            shared.delayReplies(Duration.ofMillis(20));
            long before = crowd.calls("exec");
            all(
                    sessions,
                    session -> await().ignoreException(BackendUnavailableException.class)
                            .until(() -> session.resolve(request(List.of(), 1)) != null));

            assertThat(crowd.calls("exec") - before).isLessThan(mostTransactions() * clients);
        }
    }

    private List<BackendSession> crowdBehind(Relay shared, RedisServer alone, Redis crowd, int clients) {
        List<BackendSession> sessions = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
            String uri = through(shared, crowd, alone.uri(), "timeout=1s");
            SemaphoreBackend backend = crowd.track(
                    new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("crowd")));
            BackendSession session = crowd.session(backend, "jobs", new Redis.Ear());
            giveBack(session, takeOne(session));
            sessions.add(session);
        }
        return sessions;
    }

    private static void all(List<BackendSession> sessions, Consumer<BackendSession> call) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(sessions.size());
        try {
            List<Future<?>> calls = new ArrayList<>();
            sessions.forEach(session -> calls.add(threads.submit(() -> call.accept(session))));
            for (Future<?> running : calls) {
                running.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** Where the server has ended the connection, nothing is delivered. */
    private void deliverAndAwaitIt() {
        int before = relay.lostBytes();
        relay.deliverRequests();
        await().until(() -> relay.lostBytes() > before || relay.refused() > 0);
    }
}
