package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/** A node of a cluster that dies, whose replica the others then promote. */
class ClusterFailOverTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static SemaphoreBackend open(RedisCluster cluster) {
        return new RedisBackendProvider()
                .open(BackendUri.parse(cluster.uri() + "?detection=2m"), HolderInfo.ofThisProcess("test"));
    }

    /** What the dead node was sent, and did not answer, is first found out about. */
    private static Answer takeOrFindOut(BackendSession session) {
        ExchangeRequest one = new ExchangeRequest(List.of(), List.of(1), 1, false);
        try {
            return session.exchange(one).answers().get(0);
        } catch (OutcomeUnknownException e) {
            return await().atMost(PATIENCE)
                    .ignoreExceptions()
                    .until(() -> session.resolve(one), Objects::nonNull)
                    .answers()
                    .get(0);
        }
    }

    @Test
    void holdersOfADeadNodeHoldAtItsReplicaAndEpochsRise() {
        try (RedisCluster cluster = new RedisCluster();
                SemaphoreBackend backend = open(cluster)) {
            int node = cluster.nodeOf(new RedisLayout("semaphore", "jobs").control());
            cluster.addReplica(node);
            backend.admin().create("jobs", 2);
            BackendSession session = backend.open("jobs", new Redis.Ear());
            Hold hold = takeOne(session);
            Hold released = takeOne(session);
            giveBack(session, released);
            cluster.awaitReplica(node);
            cluster.node(node).kill();

            await().atMost(PATIENCE).ignoreExceptions().until(() -> session.check(hold) == HoldState.HELD);
            Answer answer = await().atMost(PATIENCE)
                    .ignoreExceptions()
                    .until(() -> takeOrFindOut(session), Answer.Granted.class::isInstance);
            Hold next = ((Answer.Granted) answer).holds().get(0);
            assertThat(next.slot()).isEqualTo(released.slot());
            assertThat(next.epoch()).isGreaterThan(released.lastEpoch());
            assertThat(session.renew(List.of(hold, next)).lost()).isEmpty();
            assertThat(backend.admin().names()).containsExactly("jobs");
            try (SemaphoreBackend newcomer = open(cluster)) {
                assertThat(newcomer.admin().describe("jobs").orElseThrow().free())
                        .isZero();
            }
            assertThat(giveBack(session, hold, next).lost()).isEmpty();
            session.close();
        }
    }
}
