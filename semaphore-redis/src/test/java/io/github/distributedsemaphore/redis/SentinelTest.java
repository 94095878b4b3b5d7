package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.redis.worklock.RedisWorkLock;
import io.github.distributedsemaphore.redis.worklock.WorkAttempt;
import io.github.distributedsemaphore.redis.worklock.WorkOutcome;
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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A master, its replica, and a sentinel that replaces the one by the other. */
class SentinelTest {
    private RedisServer master;
    private RedisServer replica;
    private RedisServer sentinel;
    private SemaphoreBackend backend;
    private String uri;
    private BackendSession session;

    @BeforeEach
    void open() {
        master = RedisServer.start("--requirepass", "pw", "--masterauth", "pw", "--repl-diskless-sync-delay", "0");
        replica = RedisServer.start(
                "--requirepass",
                "pw",
                "--masterauth",
                "pw",
                "--replicaof",
                "127.0.0.1",
                Integer.toString(master.port()));
        sentinel = RedisServer.sentinel("main", master.port(), "pw");
        // One that is down must not matter.
        uri = "redis-sentinel://:pw@127.0.0.1:" + RedisServer.freePort() + ",127.0.0.1:" + sentinel.port()
                + "/?master=main";
        backend = open(uri + "&detection=1m");
        backend.admin().create("jobs", 2);
        session = backend.open("jobs", new Redis.Ear());
    }

    @Test
    void aWorkLockFindsItsServer() throws Exception {
        try (RedisWorkLock lock = RedisWorkLock.builder(uri).build()) {
            assertThat(lock.run("job", WorkAttempt::done)).isEqualTo(WorkOutcome.DONE);
            assertThat(lock.run("job", WorkAttempt::done)).isEqualTo(WorkOutcome.FINISHED_ELSEWHERE);
        }
    }

    private static SemaphoreBackend open(String uri) {
        return new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test"));
    }

    private static void ping(String uri) {
        try (SemaphoreBackend opened = open(uri)) {
            opened.ping();
        }
    }

    @AfterEach
    void close() {
        session.close();
        backend.close();
        List.of(sentinel, replica, master).forEach(RedisServer::close);
    }

    private boolean isOver() {
        try {
            return session.renew(List.of()).validUntil().remaining().toSeconds() > 0;
        } catch (SemaphoreException e) {
            return false;
        }
    }

    private static Redis view(RedisServer server) {
        return new Redis("redis://:pw@127.0.0.1:" + server.port());
    }

    private static void awaitRole(RedisServer server, String role) {
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().until(() -> {
            try (Redis view = view(server)) {
                return view.commands().info("replication").contains("role:" + role);
            }
        });
    }

    private static long heldAt(RedisServer server) {
        try (Redis view = view(server)) {
            return StoredState.of(view.commands(), new RedisLayout("semaphore", "jobs"))
                    .held();
        }
    }

    /** Only a replica that has the data, and that the sentinel knows of, can take over. */
    private void awaitReplica(long held) {
        await().atMost(Duration.ofSeconds(60)).until(() -> heldAt(replica) == held);
        await().atMost(Duration.ofSeconds(60))
                .until(() -> !sentinel.say("SENTINEL replicas main").equals("*0"));
    }

    /** A request that the old master was sent, and did not answer, is first found out about. */
    private Answer takeOrFindOut() {
        ExchangeRequest one = new ExchangeRequest(List.of(), List.of(1), 1, false);
        try {
            return session.exchange(one).answers().get(0);
        } catch (OutcomeUnknownException e) {
            return await().atMost(Duration.ofSeconds(60))
                    .ignoreExceptions()
                    .until(() -> session.resolve(one), Objects::nonNull)
                    .answers()
                    .get(0);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void afterAFailOverHoldersHoldAndEpochsRise(boolean killed) {
        Hold hold = takeOne(session);
        Hold released = takeOne(session);
        giveBack(session, released);
        awaitReplica(1);
        if (killed) {
            master.kill();
        } else {
            master.freeze();
        }
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().until(this::isOver);

        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
        Answer answer = await().atMost(Duration.ofSeconds(60))
                .ignoreExceptions()
                .until(this::takeOrFindOut, Answer.Granted.class::isInstance);
        Hold next = ((Answer.Granted) answer).holds().get(0);
        assertThat(next.slot()).isEqualTo(released.slot());
        assertThat(next.epoch()).isGreaterThan(released.lastEpoch());
        assertThat(backend.admin().describe("jobs").orElseThrow().free()).isZero();
        assertThat(giveBack(session, hold, next).lost()).isEmpty();
    }

    @Test
    void sentinelsMayAskForAPasswordOfTheirOwn() {
        try (RedisServer guarded = RedisServer.sentinel("main", master.port(), "pw", "requirepass hush")) {
            String uri = "redis-sentinel://:pw@127.0.0.1:" + guarded.port() + "/?master=main";
            assertThatThrownBy(() -> ping(uri)).isInstanceOf(BackendAccessException.class);
            assertThatThrownBy(() -> ping(uri + "&sentinelPassword=pw")).isInstanceOf(BackendAccessException.class);
            try (SemaphoreBackend other = open(uri + "&sentinelPassword=hush")) {
                assertThat(other.admin().names()).containsExactly("jobs");
            }
        }
    }

    @Test
    void atTheSentinelsOneRightIsEnough() {
        String user = "user app on >hush -@all +sentinel|get-master-addr-by-name";
        try (RedisServer guarded = RedisServer.sentinel("main", master.port(), "pw", user, "user default off")) {
            String uri = "redis-sentinel://:pw@127.0.0.1:" + guarded.port() + "/?master=main&sentinelPassword=hush";
            assertThatThrownBy(() -> ping(uri)).isInstanceOf(BackendAccessException.class);
            try (SemaphoreBackend other = open(uri + "&sentinelUser=app")) {
                assertThat(other.admin().names()).containsExactly("jobs");
            }
        }
    }

    @Test
    void aMasterThatWasTurnedIntoAReplicaIsLeft() {
        Hold hold = takeOne(session);
        awaitReplica(1);
        await().atMost(Duration.ofSeconds(60))
                .until(() -> sentinel.say("SENTINEL failover main").equals("+OK"));
        awaitRole(replica, "master");
        awaitRole(master, "slave");
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().until(() -> session.check(hold) == HoldState.HELD);
        await().atMost(Duration.ofSeconds(60))
                .ignoreExceptions()
                .until(() -> take(session, 1) instanceof Answer.Granted);
        assertThat(heldAt(replica)).isEqualTo(2);
    }

    /** The master is cut off from its peers, but not from the clients: it does not hear that the replica leads. */
    @ParameterizedTest
    @ValueSource(strings = {"", "&minReplicas=1"})
    void aMasterThatHasLostItsReplicasIsLeftOnceAnotherOneLeads(String setting) {
        try (RedisServer next = RedisServer.start(
                        "--masterauth", "pw", "--replicaof", "127.0.0.1", Integer.toString(replica.port()));
                SemaphoreBackend client = open(uri + "&detection=1m" + setting)) {
            BackendSession held = client.open("jobs", new Redis.Ear());
            Hold hold = takeOne(held);
            awaitReplica(1);
            await().atMost(Duration.ofSeconds(60)).until(() -> heldAt(next) == 1);
            cutOff();

            assertThatThrownBy(() -> take(held, 1)).hasMessageContaining("NOREPLICAS");
            await().atMost(Duration.ofSeconds(20))
                    .ignoreExceptions()
                    .until(() -> take(held, 1) instanceof Answer.Granted);
            assertThat(heldAt(replica)).isEqualTo(2);
            assertThat(held.renew(List.of(hold)).lost()).isEmpty();
            held.close();
        }
    }

    private void cutOff() {
        try (Redis old = view(master);
                Redis leader = view(replica)) {
            leader.commands().replicaofNoOne();
            assertThat(sentinel.say("SENTINEL REMOVE main")).isEqualTo("+OK");
            assertThat(sentinel.say("SENTINEL MONITOR main 127.0.0.1 " + replica.port() + " 1"))
                    .isEqualTo("+OK");
            old.commands().configSet("min-replicas-to-write", "1");
            // It hears of the end of a replica's connection a little later.
            await().until(() -> old.commands().info("replication").contains("connected_slaves:0"));
        }
    }
}
