package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A server of the test's own that refuses, runs out of memory, turns into a replica, or dies and comes back. */
class ServerTest {
    private RedisServer server;
    private Redis redis;

    @BeforeEach
    void open() {
        server = RedisServer.start();
        redis = new Redis(server.uri());
    }

    @AfterEach
    void close() {
        redis.close();
        server.close();
    }

    private BackendSession session() {
        SemaphoreBackend backend = redis.backend();
        backend.admin().create("jobs", 3);
        return redis.session(backend, "jobs", new Redis.Ear());
    }

    private SemaphoreBackend as(String credentials) {
        String uri = redis.uri().replace("redis://", "redis://" + credentials + "@");
        return redis.track(new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("")));
    }

    @Test
    void wrongCredentialsAreAnAccessErrorThatDoesNotTellThem() {
        redis.commands().aclSetuser("known", AclSetuserArgs.Builder.on().addPassword("right"));
        assertThatThrownBy(() -> as("known:wr0ng").ping())
                .isInstanceOf(BackendAccessException.class)
                .hasMessageContaining("127.0.0.1")
                .hasMessageNotContaining("wr0ng");
        redis.commands().configSet("requirepass", "secret");
        assertThatThrownBy(() -> redis.backend().ping()).isInstanceOf(BackendAccessException.class);
        as(":secret").ping();
        redis.commands().configSet("requirepass", "");
    }

    private static final String RIGHTS = RightsTest.documented();

    private void allow(String user, String... rules) {
        CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8)
                .add("SETUSER")
                .add(user)
                .add("on")
                .add(">pw");
        for (String rule : rules) {
            for (String part : rule.split(" ")) {
                args.add(part);
            }
        }
        redis.commands().dispatch(CommandType.ACL, new StatusOutput<>(StringCodec.UTF8), args);
    }

    @Test
    void aMissingRightIsAnAccessErrorAndNothingIsTaken() {
        session();
        allow("poor", "~*", "&*", RIGHTS, "-hincrby");
        BackendSession poor = redis.session(as("poor:pw"), "jobs", new Redis.Ear());
        assertThatThrownBy(() -> take(poor, 1))
                .isInstanceOf(BackendAccessException.class)
                .hasMessageContaining("hincrby");
        assertThat(redis.held("jobs")).isZero();
    }

    @Test
    void withoutMemoryNothingIsTakenAndWhatIsGivenBackIsFree() {
        BackendSession session = session();
        Hold hold = takeOne(session);
        redis.commands().configSet("maxmemory", "1");
        assertThatThrownBy(() -> take(session, 1))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("OOM");
        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(redis.held("jobs")).isZero();
        redis.commands().configSet("maxmemory", "0");
        assertThat(takeHolds(session, 3)).hasSize(3);
    }

    @Test
    void aReplicaIsUnavailable() {
        BackendSession session = session();
        redis.commands().replicaof("127.0.0.1", 1);
        assertThatThrownBy(() -> take(session, 1))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("READONLY");
        redis.commands().replicaofNoOne();
        takeOne(session);
    }

    /** As a name or a proxy does when another server has become the primary. The connections to the former one stay. */
    @Test
    void aServerThatBecameAReplicaIsLeftForTheOneThatItsAddressLeadsTo() {
        try (RedisServer next = RedisServer.start();
                Relay relay = new Relay(server.uri())) {
            assertThat(at(next.uri()).admin().create("jobs", 3)).isTrue();
            session();
            BackendSession session = redis.session(at(relay.uri()), "jobs", new Redis.Ear());
            Hold hold = takeOne(session);
            assertThat(session.renew(List.of(hold)).lost()).isEmpty();
            redis.commands().replicaof("127.0.0.1", 1);
            relay.redirectNew(next.uri());

            // The other server knows nothing of it.
            await().ignoreExceptionsInstanceOf(BackendUnavailableException.class)
                    .until(() -> session.renew(List.of(hold)).lost().contains(hold));
            await().ignoreExceptionsInstanceOf(BackendUnavailableException.class)
                    .until(() -> take(session, 1) instanceof Answer.Granted);
            redis.commands().replicaofNoOne();
        }
    }

    private SemaphoreBackend at(String address, String... settings) {
        String uri = redis.uri(settings).replace(server.uri(), address);
        return redis.track(new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("")));
    }

    @Test
    void anExchangeWhoseOutcomeCouldNotBeFoundOutManyTimesIsFoundOutAtLast() {
        session();
        try (Relay relay = new Relay(server.uri())) {
            BackendSession session = redis.session(at(relay.uri(), "timeout=1s"), "jobs", new Redis.Ear());
            takeOne(session);
            relay.loseReplies();
            ExchangeRequest request = new ExchangeRequest(List.of(), List.of(1), 1, false);
            assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(OutcomeUnknownException.class);
            redis.commands().replicaof("127.0.0.1", 1);
            for (int i = 0; i < 40; i++) {
                assertThatThrownBy(() -> session.resolve(request)).isInstanceOf(BackendUnavailableException.class);
            }
            redis.commands().replicaofNoOne();
            relay.delayReplies(Duration.ofMillis(30));
            // Who was a replica counts as another server: what was granted before goes back.
            await().ignoreExceptionsInstanceOf(BackendUnavailableException.class)
                    .until(() -> session.resolve(request).answers().get(0) instanceof Answer.NotDone);
            assertThat(redis.held("jobs")).isEqualTo(1);
        }
    }

    /** Or else releases would be told to this client alone, for as long as it holds something. */
    @Test
    void aPlaceInTheQueueThatCouldNotBeGivenUpIsGivenUpAfterARenewal() {
        BackendSession leaving = session();
        List<Hold> held = takeHolds(leaving, 3);
        assertThat(Redis.await(leaving, 1).answers()).containsExactly(Answer.FULL);
        BackendSession.Watch watch = leaving.watch(() -> {});
        redis.commands().configSet("min-replicas-to-write", "1");
        watch.close();
        redis.commands().configSet("min-replicas-to-write", "0");
        String queue = redis.layout("jobs").waiters();
        assertThat(redis.commands().zcard(queue)).isEqualTo(1);

        assertThat(leaving.renew(held).lost()).isEmpty();

        await().until(() -> redis.commands().zcard(queue) == 0);
    }

    @Test
    void aServerThatWantsReplicasAndHasNoneIsUnavailable() {
        BackendSession session = session();
        Hold hold = takeOne(session);
        redis.commands().configSet("min-replicas-to-write", "1");
        assertThatThrownBy(() -> take(session, 1))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("NOREPLICAS");
        assertThatThrownBy(() -> giveBack(session, hold)).isInstanceOf(BackendUnavailableException.class);
        redis.commands().configSet("min-replicas-to-write", "0");
        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(takeHolds(session, 3)).hasSize(3);
    }

    @Test
    void aUserThatIsRemovedMeanwhileIsRefusedAndComesBackWithItsRights() {
        session();
        allow("brief", "~*", "&*", RIGHTS);
        SemaphoreBackend backend = as("brief:pw");
        BackendSession brief = redis.session(backend, "jobs", new Redis.Ear());
        Hold hold = takeOne(brief);
        redis.commands().aclDeluser("brief");
        // The server cuts its connections, and then says why.
        await().untilAsserted(
                        () -> assertThatThrownBy(() -> brief.check(hold)).isInstanceOf(BackendAccessException.class));
        assertThatThrownBy(() -> take(brief, 1)).isInstanceOf(BackendAccessException.class);
        assertThatThrownBy(() -> backend.admin().describe("jobs")).isInstanceOf(BackendAccessException.class);
        allow("brief", "~*", "&*", RIGHTS);
        assertThat(brief.check(hold)).isEqualTo(HoldState.HELD);
        assertThat(giveBack(brief, hold).lost()).isEmpty();
    }

    @Test
    void aServerThatMayDropKeysIsRefused() {
        redis.commands().configSet("maxmemory-policy", "allkeys-lru");
        SemaphoreBackend backend = redis.backend();
        assertThatThrownBy(backend::ping)
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("allkeys-lru");
        assertThatThrownBy(() -> take(redis.session(backend, "jobs", new Redis.Ear()), 1))
                .isInstanceOf(IncompatibleStateException.class);
        redis.commands().configSet("maxmemory-policy", "volatile-lru");
        backend.ping();
    }

    @Test
    void whatMayNotBeAskedIsANote() {
        allow("blind", "~*", "&*", RIGHTS, "-info");
        SemaphoreBackend backend = as("blind:pw");
        backend.ping();
        assertThat(backend.guarantees().notes()).anyMatch(note -> note.contains("eviction"));
        assertThat(backend.guarantees().has(Capability.DURABLE_STATE)).isFalse();
        backend.admin().create("jobs", 1);
        takeOne(redis.session(backend, "jobs", new Redis.Ear()));
    }

    @Test
    void afterACrashOfTheServerHoldersHoldAndSessionsGoOn() {
        BackendSession session = session();
        BackendSession other = redis.session("jobs");
        Hold hold = takeOne(session);
        AtomicInteger hints = new AtomicInteger();
        session.watch(hints::incrementAndGet);
        server.kill();
        assertThatThrownBy(() -> session.check(hold)).isInstanceOf(BackendUnavailableException.class);
        assertThatThrownBy(() -> take(other, 1)).isInstanceOf(BackendUnavailableException.class);
        await().until(() -> hints.get() > 0);
        hints.set(0);
        server.restart();

        assertThat(session.renew(List.of(hold)).lost()).isEmpty();
        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
        List<Hold> rest = takeHolds(other, 2);
        assertThat(rest).extracting(Hold::slot).containsExactly(2, 3);
        // The listening connection comes back by itself, and says that something may have been missed.
        await().until(() -> hints.get() > 0);
        hints.set(0);
        assertThat(Redis.await(session, 1).answers()).containsExactly(Answer.FULL);
        giveBack(other, rest.get(0));
        await().until(() -> hints.get() > 0);
    }
}
