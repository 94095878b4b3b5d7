package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.RedisWire;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Creation, change, destruction and a look, while sessions have their watches armed. */
class AdministrationTest {
    private Redis redis;
    private BackendAdmin admin;
    private BackendSession session;

    @BeforeEach
    void open() {
        redis = new Redis();
        admin = redis.backend().admin();
        admin.create("jobs", 3);
        session = redis.session("jobs");
    }

    @AfterEach
    void close() {
        redis.close();
    }

    @Test
    void creatingAgainIsNoChangeAndWithAnotherLimitAConflict() {
        assertThat(admin.create("jobs", 3)).isFalse();
        assertThatThrownBy(() -> admin.create("jobs", 4)).isInstanceOf(LimitConflictException.class);
        assertThat(admin.describe("jobs").orElseThrow().limit()).isEqualTo(3);
    }

    @Test
    void aClaimThatWasDecidedBeforeAShrinkIsNotGrantedAfterIt() {
        Hold first = takeOne(session); // and now the session is armed, with a limit of 3
        admin.resize("jobs", 1);
        assertThat(take(session, 1)).isEqualTo(Answer.FULL);
        assertThat(take(session, 2)).isEqualTo(new Answer.ExceedsLimit(1));
        giveBack(session, first);
        assertThat(takeOne(session).slot()).isEqualTo(1);
    }

    /** A client that goes on waiting ends its watch, and what it gives back then needs none. */
    @Test
    void whatWasGivenBackWhileWaitingIsNotTakenAgainAfterShrinkOrDestroy() {
        takeOne(redis.session("jobs"));
        ExchangeRequest waits = new ExchangeRequest(List.of(), List.of(1), 1, true);
        giveBackWhileWaiting(waits);
        admin.resize("jobs", 1);
        assertThat(session.exchange(waits).answers()).containsExactly(Answer.FULL);

        admin.resize("jobs", 3);
        giveBackWhileWaiting(waits);
        admin.destroy("jobs");
        assertThat(session.exchange(waits).answers()).containsExactly(Answer.MISSING);
    }

    private void giveBackWhileWaiting(ExchangeRequest waits) {
        List<Hold> mine = takeHolds(session, 2);
        assertThat(session.exchange(waits).answers()).containsExactly(Answer.FULL);
        assertThat(session.exchange(waits).answers()).containsExactly(Answer.FULL);
        session.exchange(new ExchangeRequest(mine, List.of(), 1, true));
    }

    @Test
    void holdersOfRemovedSlotsKeepThemUntilTheyGiveThemBack() {
        List<Hold> holds = takeHolds(session, 3);
        admin.resize("jobs", 1);

        assertThat(holds)
                .extracting(session::check)
                .containsExactly(HoldState.HELD, HoldState.RETIRED, HoldState.RETIRED);
        assertThat(session.renew(holds).retired()).containsExactlyInAnyOrder(holds.get(1), holds.get(2));
        assertThat(admin.retiredHolders("jobs")).isEqualTo(2);
        giveBack(session, holds.get(1));
        assertThat(take(session, 1)).isEqualTo(Answer.FULL);
        assertThat(admin.retiredHolders("jobs")).isEqualTo(1);
        admin.resize("jobs", 3);
        assertThat(session.check(holds.get(2))).isEqualTo(HoldState.HELD);
        assertThat(takeOne(session).slot()).isEqualTo(2);
    }

    @Test
    void whatIsDestroyedGrantsNothingAndItsHoldersKeepTheirSlots() {
        BackendSession other = redis.session("jobs");
        Hold hold = takeHolds(session, 2).get(1);
        assertThat(admin.destroy("jobs")).isTrue();
        assertThat(admin.destroy("jobs")).isFalse();

        assertThat(take(other, 1)).isEqualTo(Answer.MISSING);
        assertThat(take(session, 1)).isEqualTo(Answer.MISSING);
        assertThat(session.check(hold)).isEqualTo(HoldState.RETIRED);
        assertThat(session.renew(List.of(hold)).retired()).containsExactly(hold);
        assertThat(admin.retiredHolders("jobs")).isEqualTo(2);
        assertThat(admin.describe("jobs")).isEmpty();
    }

    @Test
    void madeAnewItDoesNotGrantSlotsThatAreStillHeld() {
        BackendSession other = redis.session("jobs");
        List<Hold> holds = takeHolds(session, 2);
        admin.destroy("jobs");
        assertThat(admin.create("jobs", 2)).isTrue();

        assertThat(take(other, 1)).isEqualTo(Answer.FULL);
        assertThat(session.check(holds.get(0))).isEqualTo(HoldState.HELD);
        giveBack(session, holds.get(0));
        Hold successor = takeOne(other);
        assertThat(successor.slot()).isEqualTo(holds.get(0).slot());
        assertThat(successor.epoch()).isGreaterThan(holds.get(0).lastEpoch());
        assertThat(giveBack(session, holds.get(1)).lost()).isEmpty();
    }

    @Test
    void theLastHolderOfWhatWasDestroyedLeavesNothingBehind() {
        Hold hold = takeOne(session);
        BackendSession idle = redis.session("jobs");
        giveBack(idle, takeOne(idle));
        admin.destroy("jobs");
        assertThat(redis.keys()).isNotEmpty();
        giveBack(session, hold);
        session.close();
        assertThat(redis.keys()).isEmpty();
        assertThat(take(idle, 1)).isEqualTo(Answer.MISSING);
        assertThat(redis.keys()).isEmpty();
    }

    @Test
    void theRecordsOfHoldersOfWhatWasDestroyedEndWithTheirLives() {
        BackendSession dying = redis.session("jobs", "detection=1s");
        Hold hold = takeOne(session);
        takeOne(dying);
        dying.abort();
        admin.destroy("jobs");
        session.renew(List.of(hold));
        String holds = redis.layout("jobs").epochs();
        assertThat(redis.commands().pttl(holds)).isBetween(8_000L, 12_000L);
        assertThat(admin.retiredHolders("jobs")).isBetween(1, 2);
        session.abort();
        admin.create("jobs", 3);
        assertThat(redis.keys()).allMatch(key -> redis.commands().pttl(key) == -1);
    }

    @Test
    void theBurialOfAHolderOfWhatWasDestroyedTakesNoEndAway() {
        BackendSession dying = redis.session("jobs");
        takeHolds(dying, 2);
        RedisLayout layout = redis.layout("jobs");
        String dead = redis.commands().zrange(layout.lives(), 0, 0).get(0);
        Hold hold = takeOne(session);
        admin.destroy("jobs");
        session.renew(List.of(hold));
        redis.commands().zadd(layout.lives(), 1, dead);
        try (RedisConnections connections = new RedisConnections(
                RedisSettings.from(BackendUri.parse(redis.uri()), HolderInfo.ofThisProcess("test"))
                        .servers(),
                true)) {
            RedisWire wire = connections.open(layout.control(), connections.callDeadline());
            long micros = System.currentTimeMillis() * 1_000;
            assertThat(new RedisPruning(layout, wire).prune(micros, "", connections.callDeadline()))
                    .isTrue();
        }

        assertThat(redis.commands().zrange(layout.lives(), 0, -1)).hasSize(1).doesNotContain(dead);
        assertThat(redis.keys()).isNotEmpty().allMatch(key -> redis.commands().pttl(key) > 0);
        dying.abort();
        admin.create("jobs", 3);
        assertThat(redis.stored("jobs").faults()).isEmpty();
        assertThat(takeHolds(redis.session("jobs"), 2)).hasSize(2);
    }

    @Test
    void aRenewalDuringWhichTheRecordsEndFindsItsHoldsLost() throws Exception {
        try (Relay relay = new Relay(RedisServer.address())) {
            String uri = redis.uri().replace(RedisServer.address(), relay.uri());
            SemaphoreBackend remote = redis.track(
                    new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("remote")));
            BackendSession holder = redis.session(remote, "jobs", new Redis.Ear());
            Hold hold = takeOne(holder);
            admin.destroy("jobs");
            CountDownLatch renewed = relay.holdAt("EXISTS");
            Future<Renewal> renewing = CompletableFuture.supplyAsync(() -> holder.renew(List.of(hold)));
            assertThat(renewed.await(60, TimeUnit.SECONDS)).isTrue();
            redis.keys().forEach(redis.commands()::del);
            admin.create("jobs", 3);
            takeHolds(session, 3);
            relay.goOn();

            assertThat(renewing.get(60, TimeUnit.SECONDS).lost()).containsExactly(hold);
        }
    }

    @Test
    void whatIsGivenBackAfterAllWereHeldEndsWithTheRecordsToo() {
        List<Hold> holds = takeHolds(session, 3);
        admin.destroy("jobs");
        giveBack(session, holds.get(0));
        session.abort();
        assertThat(redis.keys()).isNotEmpty().allMatch(key -> redis.commands().pttl(key) > 0);
        admin.create("jobs", 3);
        assertThat(takeOne(redis.session("jobs")).slot()).isEqualTo(holds.get(0).slot());
        assertThat(take(redis.session("jobs"), 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void changesOfWhatIsMissingAreRefused() {
        assertThatThrownBy(() -> admin.resize("nothing", 2)).isInstanceOf(NoSuchSemaphoreException.class);
        assertThat(admin.destroy("nothing")).isFalse();
        assertThat(admin.retiredHolders("nothing")).isZero();
    }

    @Test
    void descriptionShowsWhoHoldsWhatUnderWhichEpoch() {
        takeOne(session);
        BackendSession other = redis.session("jobs");
        Hold hold = takeOne(other);
        SemaphoreDescription description = admin.describe("jobs").orElseThrow();

        assertThat(description.free()).isEqualTo(1);
        assertThat(description.holders()).extracting(Holder::slot).containsExactly(1, 2);
        Holder second = description.holders().get(1);
        assertThat(second.epoch()).isEqualTo(hold.epoch());
        assertThat(second.pid()).isEqualTo(ProcessHandle.current().pid());
        assertThat(second.label()).isEqualTo("test");
        assertThat(second.state()).isEqualTo(HolderState.HELD);
    }

    @Test
    void theDeadAreShownAsSuchAndTheirSlotsCountAsFree() {
        takeOne(session);
        String lives = redis.layout("jobs").lives();
        redis.commands().zadd(lives, 1, redis.commands().zrange(lives, 0, 0).get(0));
        SemaphoreDescription description = admin.describe("jobs").orElseThrow();
        assertThat(description.free()).isEqualTo(3);
        assertThat(description.holders()).extracting(Holder::state).containsExactly(HolderState.EXPIRED);
    }

    @Test
    void namesAreListedInOrderAndOnlyThoseThatAreThere() {
        admin.create("b} {c}:h", 1);
        admin.create("ähm", 1);
        assertThat(admin.names()).containsExactly("b} {c}:h", "jobs", "ähm");
        redis.commands().del(redis.layout("ähm").control());
        admin.destroy("jobs");
        assertThat(admin.names()).containsExactly("b} {c}:h");
        assertThat(take(redis.session("b} {c}:h"), 1)).isInstanceOf(Answer.Granted.class);
    }
}
