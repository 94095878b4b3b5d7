package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.ask;
import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** State that somebody else changed, removed, or put there. */
class StateTest {
    private Redis redis;
    private RedisCommands<String, String> commands;
    private BackendAdmin admin;
    private final Redis.Ear ear = new Redis.Ear();
    private BackendSession session;
    private RedisLayout layout;

    @BeforeEach
    void open() {
        redis = new Redis();
        commands = redis.commands();
        var backend = redis.backend();
        admin = backend.admin();
        admin.create("jobs", 3);
        session = redis.session(backend, "jobs", ear);
        layout = redis.layout("jobs");
    }

    @AfterEach
    void close() {
        redis.close();
    }

    @ParameterizedTest
    @CsvSource({
        "limit, many",
        "limit, 0",
        "limit, -1",
        "limit, 99999999999999999999",
        "format, 3",
        "format, 1",
        "slots, 2",
        "slots, many",
        "base, x",
        "format,"
    })
    void aDamagedControlIsRefusedAndCanBeDestroyed(String field, @Nullable String value) {
        takeOne(session);
        if (value == null) {
            commands.hdel(layout.control(), field);
        } else {
            commands.hset(layout.control(), field, value);
        }

        BackendSession other = redis.session("jobs");
        assertThatThrownBy(() -> take(other, 1))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("'jobs'")
                .hasMessageContaining(layout.control());
        assertThatThrownBy(() -> take(session, 1)).isInstanceOf(IncompatibleStateException.class);
        assertThatThrownBy(() -> admin.describe("jobs")).isInstanceOf(IncompatibleStateException.class);
        assertThatThrownBy(() -> admin.create("jobs", 3)).isInstanceOf(IncompatibleStateException.class);
        assertThat(commands.hget(layout.control(), field)).isEqualTo(value);
        assertThat(admin.destroy("jobs")).isTrue();
        assertThat(admin.create("jobs", 3)).isTrue();
        assertThat(takeHolds(other, 2)).hasSize(2);
    }

    @Test
    void dataOfAnEarlierFormatAreRefusedWithWhatToDoAboutThem() {
        commands.hset(layout.control(), "format", "1");
        String holds = layout.control().replaceAll("c$", "h");
        commands.hset(holds, "1", "a hold of format 1");

        assertThatThrownBy(() -> take(session, 1))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("format '1' of an earlier version")
                .hasMessageContaining("destroy the semaphore with this version and create it again with limit 3");
        assertThat(admin.destroy("jobs")).isTrue();
        assertThat(commands.exists(holds)).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"c", "f", "e", "l", "w"})
    void aForeignKeyIsRefusedAndLeftAsItIs(String kind) {
        String key = redis.layout("other").control().replaceAll("c$", kind);
        commands.set(key, "mine");

        assertThatThrownBy(() -> admin.create("other", 1)).isInstanceOf(IncompatibleStateException.class);
        assertThat(commands.get(key)).isEqualTo("mine");
    }

    @Test
    void aForeignHashUnderTheControlKeyIsNoMissingSemaphore() {
        String key = redis.layout("other").control();
        commands.hset(key, "colour", "blue");

        BackendSession other = redis.session("other");
        assertThatThrownBy(() -> admin.create("other", 1)).isInstanceOf(IncompatibleStateException.class);
        assertThatThrownBy(() -> admin.resize("other", 1)).isInstanceOf(IncompatibleStateException.class);
        assertThatThrownBy(() -> admin.destroy("other")).isInstanceOf(IncompatibleStateException.class);
        assertThatThrownBy(() -> take(other, 1)).isInstanceOf(IncompatibleStateException.class);
        assertThat(commands.hgetall(key)).containsOnlyKeys("colour");
    }

    @ParameterizedTest
    @ValueSource(strings = {"f", "e"})
    void aKeyThatChangesItsKindIsRefusedAndNothingStaysTaken(String kind) {
        giveBack(session, takeOne(session));
        String key = layout.control().replaceAll("c$", kind);
        commands.rename(key, key + "-aside");
        commands.set(key, "mine");

        assertThatThrownBy(() -> take(session, 1)).isInstanceOf(IncompatibleStateException.class);
        commands.rename(key + "-aside", key);
        assertThat(takeHolds(redis.session("jobs"), 3)).hasSize(3);
    }

    @Test
    void aMemberThatIsNoSlotIsRefused() {
        commands.sadd(layout.free(), "first");
        assertThatThrownBy(() -> take(session, 1))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("'first'")
                .hasMessageContaining(layout.free());
        commands.srem(layout.free(), "first");
        assertThat(takeHolds(session, 3)).hasSize(3);
    }

    @Test
    void aCountThatIsNoNumberIsRefusedAndNothingStaysTaken() {
        for (String slot : List.of("1", "2", "3")) {
            commands.hset(layout.epochs(), slot, "many");
        }
        assertThatThrownBy(() -> take(session, 1)).isInstanceOf(IncompatibleStateException.class);
        assertThat(redis.held("jobs")).isZero();
        commands.del(layout.epochs());
        assertThat(takeHolds(session, 3)).hasSize(3);
    }

    @Test
    void whatMakesAnExchangeFailInAWayThatNobodyForesawIsFoundOutAndGoesBack() {
        Hold before = takeOne(session);
        long base = Long.parseLong(commands.hget(layout.control(), RedisLayout.BASE_FIELD));
        // The grant is done, and then its last epoch is beyond what a number can be.
        commands.hset(layout.epochs(), "2", Long.toString(Long.MAX_VALUE - base - 10));
        ExchangeRequest request = new ExchangeRequest(List.of(before), List.of(1, 1), 15, false);
        commands.hset(layout.epochs(), "1", Long.toString(Long.MAX_VALUE - base - 10));
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(IllegalArgumentException.class);
        assertThat(redis.held("jobs")).isPositive();

        ExchangeResult found = session.resolve(request);
        assertThat(found.answers()).containsExactly(Answer.NOT_DONE, Answer.NOT_DONE);
        assertThat(found.lost()).isEmpty();
        assertThat(redis.held("jobs")).isZero();
        commands.del(layout.epochs());
        assertThat(takeHolds(session, 3)).hasSize(3);
    }

    @Test
    void aSemaphoreThatIsDestroyedIsSoWhateverLiesUnderTheKeysOfItsHolders() {
        commands.set(layout.free(), "mine");
        assertThat(admin.destroy("jobs")).isTrue();
        assertThat(admin.names()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"l", "w"})
    void whatCannotBeTakenBackNowGoesBackAfterTheRepair(String kind) {
        BackendSession brief = redis.session("jobs", "detection=1s");
        giveBack(brief, takeOne(brief));
        String key = layout.control().replaceAll("c$", kind);
        commands.del(key);
        commands.set(key, "mine");

        // The first is granted, but that the other is refused is not known without a look at everything.
        assertThatThrownBy(() -> ask(brief, 1, 3)).isInstanceOf(IncompatibleStateException.class);
        commands.del(key);
        BackendSession other = redis.session("jobs", "detection=1s");
        await().until(() -> take(other, 3) instanceof Answer.Granted);
    }

    /** Redis does the other parts of a transaction if one of them fails. */
    @Test
    void deadClientsKeepTheirSlotsWhileThoseOfOneCannotBecomeFree() {
        takeHolds(session, 3);
        String client = commands.zrange(layout.lives(), 0, 0).get(0);
        commands.zadd(layout.lives(), 1, client);
        commands.zadd(layout.lives(), 1, "another");
        commands.set(layout.heldBy("another"), "mine");

        BackendSession heir = redis.session("jobs");
        assertThatThrownBy(() -> take(heir, 1)).isInstanceOf(IncompatibleStateException.class);
        assertThat(commands.scard(layout.heldBy(client))).isEqualTo(3);
        commands.del(layout.heldBy("another"));
        assertThat(takeHolds(heir, 3)).hasSize(3);
    }

    @Test
    void deadClientsKeepTheirSlotsWhileTheFreeOnesCannotBeRead() {
        takeHolds(session, 3);
        String client = commands.zrange(layout.lives(), 0, 0).get(0);
        commands.zadd(layout.lives(), 1, client);
        commands.set(layout.free(), "mine");

        assertThatThrownBy(() -> admin.retiredHolders("jobs")).isInstanceOf(IncompatibleStateException.class);
        assertThat(commands.scard(layout.heldBy(client))).isEqualTo(3);
        commands.del(layout.free());
        assertThat(takeHolds(redis.session("jobs"), 3)).hasSize(3);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aHolderThatWasRemovedLearnsOfItAndFreesNobodyElsesSlot(boolean check) {
        List<Hold> holds = takeHolds(session, 2);
        String client = commands.zrange(layout.lives(), 0, 0).get(0);
        commands.multi();
        commands.smove(
                layout.heldBy(client),
                layout.free(),
                Integer.toString(holds.get(0).slot()));
        commands.hincrby(layout.control(), RedisLayout.CHANGES_FIELD, 1);
        commands.exec();
        BackendSession other = redis.session("jobs");
        Hold successor = takeOne(other);

        assertThat(successor.slot()).isEqualTo(holds.get(0).slot());
        if (check) {
            assertThat(session.check(holds.get(0))).isEqualTo(HoldState.LOST);
            assertThat(session.renew(holds).lost()).containsExactly(holds.get(0));
        }
        assertThat(giveBack(session, holds.get(0)).lost()).containsExactly(holds.get(0));
        assertThat(other.check(successor)).isEqualTo(HoldState.HELD);
    }

    @Test
    void afterEverythingWasWipedHoldersHaveLostAndEpochsGoOnRising() {
        Hold hold = takeOne(session);
        redis.keys().forEach(commands::del);

        assertThat(session.renew(List.of(hold)).lost()).containsExactly(hold);
        assertThat(take(session, 1)).isEqualTo(Answer.MISSING);
        assertThat(ear.lost).containsExactly(hold);
        assertThat(admin.create("jobs", 3)).isTrue();
        assertThat(takeOne(redis.session("jobs")).epoch()).isGreaterThan(hold.lastEpoch());
        assertThat(takeOne(session).slot()).isEqualTo(2);
    }

    @Test
    void anotherServerWithOlderDataGrantsHigherEpochs() {
        Hold hold = takeOne(session);
        String slot = Integer.toString(hold.slot());
        session.close();
        // What a replica looks like that was promoted without the last grants.
        commands.hset(layout.control(), RedisLayout.SERVER_FIELD, "another");
        commands.hdel(layout.epochs(), slot);

        BackendSession afterwards = redis.session("jobs");
        Hold first = takeOne(afterwards);
        assertThat(first.slot()).isEqualTo(hold.slot());
        assertThat(first.epoch()).isGreaterThan(hold.lastEpoch());
        String base = commands.hget(layout.control(), RedisLayout.BASE_FIELD);
        takeOne(redis.session("jobs"));
        assertThat(commands.hget(layout.control(), RedisLayout.BASE_FIELD)).isEqualTo(base);
    }

    /** That key is made only where there is a semaphore: a call that waited for it would go on until its time is over. */
    @Test
    void whoMissesTheKeyOfItsRenewalsIsToldThatTheSemaphoreWasDestroyed() {
        Queue<Runnable> later = new ArrayDeque<>();
        // What the session does in the background would remove it from what is left, and comes later here.
        BackendSession waiting = redis.session(redis.backend(), "jobs", new Redis.Ear(later::add));
        Hold hold = takeOne(waiting);
        String client = commands.zrange(layout.lives(), 0, 0).get(0);
        admin.destroy("jobs");
        commands.del(layout.renewalOf(client));
        assertThat(waiting.renew(List.of(hold)).lost()).containsExactly(hold);

        assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.MISSING);
        later.forEach(Runnable::run);
    }

    /** After two fail-overs in a row the last server may have got its base before the one between. */
    @Test
    void aClientFromAServerWithAHigherBaseRaisesThatOfTheNext() {
        try (Relay relay = new Relay(RedisServer.address())) {
            String uri = redis.uri().replace(RedisServer.address(), relay.uri());
            SemaphoreBackend remote = redis.track(
                    new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("moves")));
            BackendSession moving = redis.session(remote, "jobs", new Redis.Ear());
            Hold hold = takeOne(moving);
            long base = Long.parseLong(commands.hget(layout.control(), RedisLayout.BASE_FIELD));
            commands.hset(layout.control(), RedisLayout.BASE_FIELD, Long.toString(base - 1_000_000));
            commands.del(layout.epochs());
            relay.redirect(RedisServer.address());

            noticeTheCut(moving);

            assertThat(takeOne(moving).epoch()).isGreaterThan(hold.lastEpoch());
        }
    }

    private static void noticeTheCut(BackendSession session) {
        ExchangeRequest request = new ExchangeRequest(List.of(), List.of(1), 1, false);
        try {
            session.exchange(request);
        } catch (OutcomeUnknownException e) {
            session.resolve(request);
        }
    }
}
