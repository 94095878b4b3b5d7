package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Exchanges that are started on a thread that must not wait. */
class StartTest {
    private static final Duration TIMEOUT = Duration.ofSeconds(1);

    private final Redis.Ear ear = new Redis.Ear();
    private Redis redis;
    private Relay relay;
    private SemaphoreBackend backend;
    private BackendSession session;
    private BackendSession rival;

    @BeforeEach
    void open() {
        redis = new Redis();
        redis.backend().admin().create("jobs", 2);
        relay = new Relay(RedisServer.address());
        String uri = redis.uri("timeout=1s").replace(RedisServer.address(), relay.uri());
        backend = new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test"));
        session = backend.open("jobs", ear);
        rival = redis.session("jobs");
    }

    @AfterEach
    void close() {
        session.close();
        backend.close();
        relay.close();
        redis.close();
    }

    private static ExchangeRequest wanting(int permits) {
        return new ExchangeRequest(List.of(), List.of(permits), 1, false);
    }

    private ExchangeResult ended(CompletionStage<ExchangeResult> started) throws Exception {
        assertThat(started).isNotNull();
        return started.toCompletableFuture().get(20, TimeUnit.SECONDS);
    }

    private static Hold granted(ExchangeResult result) {
        return ((Answer.Granted) result.answers().get(0)).holds().get(0);
    }

    @Test
    void whatMeetsNobodyNeedsNoThreadThatWaits() throws Exception {
        giveBack(session, takeOne(session));
        for (int i = 0; i < 20; i++) {
            Hold hold = granted(ended(session.start(wanting(1))));
            assertThat(ended(session.start(new ExchangeRequest(List.of(hold), List.of(), 1, false)))
                            .lost())
                    .isEmpty();
        }
        assertThat(ear.executed).hasValue(0);
        assertThat(redis.held("jobs")).isZero();
    }

    /** The sample of free slots was once as large as the number of callers wants it, instead of that of the permits. */
    @Test
    void soManyPermitsAreLookedForAsAreWanted() throws Exception {
        redis.backend().admin().create("many", 200);
        redis.commands().zadd(redis.layout("many").lives(), 1, "dead.1");
        BackendSession many = redis.session(redis.backend(), "many", ear);
        // The first exchange removes the dead client, and nothing is known after it.
        takeOne(many);
        assertThat(ended(many.start(wanting(50))).answers())
                .allSatisfy(answer -> assertThat(answer).isInstanceOf(Answer.Granted.class));
        assertThat(ear.executed).as("looks that were needed besides").hasValue(0);
    }

    @Test
    void aWaiterThatIsRefusedAndComesToStandInTheQueueNeedsNoneEither() throws Exception {
        giveBack(session, takeOne(session));
        takeOne(rival);
        takeOne(rival);
        ExchangeResult refused = ended(session.start(new ExchangeRequest(List.of(), List.of(1), 1, true)));
        assertThat(refused.answers()).containsExactly(Answer.FULL);
        assertThat(redis.commands().zcard(redis.layout("jobs").waiters())).isEqualTo(1);
        assertThat(ear.executed).hasValue(0);
    }

    @Test
    void withoutAConnectionNothingIsStarted() {
        assertThat(session.start(wanting(1))).isNull();
        takeOne(session);
    }

    @Test
    void whatHasToBeAskedIsAskedOnAThreadOfTheEngine() throws Exception {
        giveBack(session, takeOne(session));
        redis.commands().hincrby(redis.layout("jobs").control(), RedisLayout.CHANGES_FIELD, 1);
        assertThat(granted(ended(session.start(wanting(1)))).slot()).isEqualTo(1);
        takeOne(rival);
        assertThat(ended(session.start(wanting(1))).answers()).containsExactly(Answer.FULL);
        assertThat(ended(session.start(wanting(3))).answers()).containsExactly(new Answer.ExceedsLimit(2));
        assertThat(ear.executed).hasPositiveValue();
    }

    @Test
    void aReplyThatDoesNotComeIsGivenUpAfterTheTimeOutAndFoundOutAbout() throws Exception {
        takeOne(session);
        relay.loseReplies();
        long begin = System.nanoTime();
        CompletionStage<ExchangeResult> started = session.start(wanting(1));
        assertThat(Duration.ofNanos(System.nanoTime() - begin))
                .as("the caller did not wait")
                .isLessThan(TIMEOUT);
        assertThat(session.start(wanting(1)))
                .as("another, while one is under way")
                .isNull();
        assertThatThrownBy(() -> ended(started))
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(OutcomeUnknownException.class);
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).isBetween(TIMEOUT, TIMEOUT.multipliedBy(2));
        assertThat(session.start(wanting(1))).as("before it was found out").isNull();

        Hold found = granted(session.resolve(wanting(1)));
        assertThat(redis.held("jobs")).isEqualTo(2);
        giveBack(session, found);
        assertThat(granted(ended(session.start(wanting(1)))).epoch()).isGreaterThan(found.epoch());
    }

    @Test
    void aSessionThatIsAbortedEndsWhatWasStarted() throws Exception {
        takeOne(session);
        relay.keepRequests();
        CompletionStage<ExchangeResult> started = session.start(wanting(1));
        session.abort();
        assertThatThrownBy(() -> ended(started)).isInstanceOf(ExecutionException.class);
        assertThat(session.start(wanting(1))).isNull();
        assertThatThrownBy(() -> takeOne(session)).isInstanceOf(BackendUnavailableException.class);
    }

    @Test
    void aConnectionThatBreaksEndsWhatWasStarted() throws Exception {
        takeOne(session);
        relay.keepRequests();
        CompletionStage<ExchangeResult> started = session.start(wanting(1));
        relay.redirect(RedisServer.address());
        assertThatThrownBy(() -> ended(started))
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(OutcomeUnknownException.class);
        assertThat(session.resolve(wanting(1)).answers()).containsExactly(Answer.NOT_DONE);
        assertThat(redis.held("jobs")).isEqualTo(1);
    }

    @Test
    void aKeyOfAnotherKindIsToldAndNothingStaysTaken() throws Exception {
        giveBack(session, takeOne(session));
        redis.commands().del(redis.layout("jobs").epochs());
        redis.commands().set(redis.layout("jobs").epochs(), "mine");
        assertThatThrownBy(() -> ended(session.start(wanting(1)))).hasMessageContaining("WRONGTYPE");
        await().until(() -> redis.held("jobs") == 0);
    }
}
