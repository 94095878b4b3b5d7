package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Somebody was seen to be dead, and what happens before the transaction that takes it out is done. */
class PruningRaceTest {
    /** The command that frees the slots of dead clients. */
    private static final String BURIAL = "SUNIONSTORE";

    private final ExecutorService threads = Executors.newSingleThreadExecutor();
    private Redis redis;
    private Relay relay;
    private SemaphoreBackend remote;
    private BackendSession holder;
    private BackendSession heir;
    private List<Hold> holds;
    private Future<Answer> taking;

    @BeforeEach
    void open() throws Exception {
        redis = new Redis();
        redis.backend().admin().create("jobs", 2);
        holder = redis.session("jobs");
        holds = takeHolds(holder, 2);
        relay = new Relay(RedisServer.address());
        String uri = redis.uri("timeout=10s").replace(RedisServer.address(), relay.uri());
        remote = new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("heir"));
        heir = remote.open("jobs", new Redis.Ear());
        assertThat(take(heir, 1)).isEqualTo(Answer.FULL);

        String lives = redis.layout("jobs").lives();
        redis.commands().zadd(lives, 1, redis.commands().zrange(lives, 0, 0).get(0));
        CountDownLatch reached = relay.holdAt(BURIAL);
        taking = threads.submit(() -> take(heir, 1));
        assertThat(reached.await(60, TimeUnit.SECONDS)).isTrue();
    }

    @AfterEach
    void close() {
        threads.shutdownNow();
        heir.close();
        remote.close();
        relay.close();
        redis.close();
    }

    @Test
    void aRenewalInBetweenSavesTheHolder() throws Exception {
        assertThat(holder.renew(holds).lost()).isEmpty();
        relay.goOn();

        assertThat(taking.get(60, TimeUnit.SECONDS)).isEqualTo(Answer.FULL);
        assertThat(holder.check(holds.get(0))).isEqualTo(HoldState.HELD);
        assertThat(holder.renew(holds).lost()).isEmpty();
    }

    /** Of thousands of clients somebody renews at any moment. */
    @Test
    void renewalsOfOthersDoNotSaveIt() throws Exception {
        double end = System.currentTimeMillis() + Duration.ofHours(1).toMillis();
        redis.commands().zadd(redis.layout("jobs").lives(), end, "another");
        relay.goOn();

        assertThat(taking.get(60, TimeUnit.SECONDS)).isInstanceOf(Answer.Granted.class);
        assertThat(holder.renew(holds).lost()).containsExactlyInAnyOrderElementsOf(holds);
    }

    @Test
    void aControlThatChangesAgainAndAgainDoesNotHoldACallUpUntilItsTimeIsOver() throws Exception {
        String control = redis.layout("jobs").control();
        for (int changes = 0; changes < 20 && !taking.isDone(); changes++) {
            redis.commands().hincrby(control, RedisLayout.CHANGES_FIELD, 1);
            CountDownLatch again = relay.goOnUntil(BURIAL);
            await().pollInterval(Duration.ofMillis(5)).until(() -> again.getCount() == 0 || taking.isDone());
        }
        assertThat(taking).isDone();
        assertThat(taking.get(60, TimeUnit.SECONDS)).isEqualTo(Answer.FULL);
        relay.goOn();
        assertThat(take(heir, 1)).isInstanceOf(Answer.Granted.class);
    }

    @Test
    void withoutARenewalTheSlotsAreFreed() throws Exception {
        relay.goOn();

        assertThat(taking.get(60, TimeUnit.SECONDS)).isInstanceOf(Answer.Granted.class);
        assertThat(holder.renew(holds).lost()).containsExactlyInAnyOrderElementsOf(holds);
    }
}
