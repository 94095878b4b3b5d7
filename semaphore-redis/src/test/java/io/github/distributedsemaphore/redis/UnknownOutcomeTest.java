package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Transactions whose reply is lost, and transactions that come late. */
class UnknownOutcomeTest {
    private Redis redis;
    private Relay relay;
    private SemaphoreBackend shaky;
    private BackendSession session;
    private BackendSession rival;

    @BeforeEach
    void open() {
        redis = new Redis();
        redis.backend().admin().create("jobs", 3);
        relay = new Relay(RedisServer.address());
        String uri = redis.uri("detection=3s").replace(RedisServer.address(), relay.uri());
        shaky = new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("shaky"));
        session = shaky.open("jobs", new Redis.Ear());
        rival = redis.session("jobs");
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

    private void deliverAndAwaitIt() {
        int before = relay.lostBytes();
        relay.deliverRequests();
        await().until(() -> relay.lostBytes() > before);
    }
}
