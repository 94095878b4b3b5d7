package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How long a client lives without a word, and that it stays dead. Nothing renews here but what a test renews. */
class LeaseTest {
    private static final String SHORT = "detection=1s";

    private Redis redis;
    private SemaphoreBackend backend;
    private final Redis.Ear ear = new Redis.Ear();
    private BackendSession dying;
    private BackendSession heir;

    @BeforeEach
    void open() {
        redis = new Redis();
        backend = redis.backend(SHORT);
        backend.admin().create("jobs", 2);
        dying = redis.session(backend, "jobs", ear);
        heir = redis.session("jobs", SHORT);
    }

    @AfterEach
    void close() {
        redis.close();
    }

    private Hold inherit() {
        await().atMost(Duration.ofSeconds(2)).until(() -> take(heir, 2) instanceof Answer.Granted);
        return takenBy(heir).get(0);
    }

    private static List<Hold> takenBy(BackendSession session) {
        return List.copyOf(((RedisSession) session).holds());
    }

    @Test
    void aDeadHoldersSlotsAreTakenWithinTheBoundAndNotBeforeItsValidityEnds() {
        ExchangeResult result = Redis.ask(dying, 2);
        long since = System.nanoTime();
        ExchangeResult refused = Redis.await(heir, 1);
        assertThat(refused.answers()).containsExactly(Answer.FULL);
        assertThat(refused.recheck()).isNotEqualTo(Deadline.NEVER);
        inherit();
        long now = System.nanoTime();
        assertThat(result.validUntil().isPast(now)).isTrue();
        assertThat(Duration.ofNanos(now - since)).isBetween(Duration.ofMillis(700), Duration.ofSeconds(1));
    }

    @Test
    void aWaiterIsToldWhenToLookAgainAndThenSucceedsAtOnce() {
        takeHolds(dying, 2);
        // Of a longer life than the holder: it does not have to look for its own sake.
        BackendSession waiter = redis.session("jobs", "detection=1m");
        Deadline recheck = Redis.await(waiter, 1).recheck();
        await().pollInterval(Duration.ofMillis(1)).until(() -> recheck.isPast(System.nanoTime()));
        assertThat(Redis.await(waiter, 1).answers().get(0)).isInstanceOf(Answer.Granted.class);
    }

    @Test
    void aGrantLivesLongEnoughForTwoRenewals() {
        BackendSession session = redis.session("jobs", "detection=4s");
        ExchangeResult first = Redis.ask(session, 1);
        giveBack(session, ((Answer.Granted) first.answers().get(0)).holds().get(0));
        // Of 3.4 s a half and some more are left.
        await().pollInterval(Duration.ofMillis(1))
                .until(() -> first.validUntil().remaining().toMillis() < 2_700);
        ExchangeResult second = Redis.ask(session, 1);
        long now = System.nanoTime();
        assertThat(second.validUntil().nanosFrom(now) - first.validUntil().nanosFrom(now))
                .isGreaterThan(500_000_000);
    }

    /** Without it nothing tells a client that takes others for dead that this one renews at the same moment. */
    @Test
    void aRenewalDoesNotCountIfTheKeyIsGoneThatItWrites() {
        List<Hold> holds = takeHolds(dying, 2);
        String client =
                redis.commands().zrange(redis.layout("jobs").lives(), 0, 0).get(0);
        redis.commands().del(redis.layout("jobs").renewalOf(client));

        assertThat(dying.renew(holds).lost()).containsExactlyInAnyOrderElementsOf(holds);
        inherit();
    }

    /** And what it lost is not granted to it again with the same epochs. */
    @Test
    void afterSuchARenewalItsNextHoldsAreRenewedAgain() {
        List<Hold> lost = takeHolds(dying, 2);
        String client =
                redis.commands().zrange(redis.layout("jobs").lives(), 0, 0).get(0);
        redis.commands().del(redis.layout("jobs").renewalOf(client));
        assertThat(dying.renew(lost).lost()).hasSize(2);
        List<Hold> next = takeHolds(dying, 2);

        assertThat(dying.renew(next).lost()).isEmpty();
        assertThat(next)
                .allSatisfy(hold -> assertThat(lost)
                        .filteredOn(former -> former.slot() == hold.slot())
                        .allMatch(former -> former.lastEpoch() < hold.epoch()));
    }

    /** Where many are late at once, each that comes back would make the transactions of all others fail. */
    @Test
    void whoComesBackUnderAnotherNameTouchesNothingThatOthersWatch() {
        takeHolds(dying, 2);
        inherit();
        String control = redis.layout("jobs").control();
        String changes = redis.commands().hget(control, RedisLayout.CHANGES_FIELD);

        assertThat(take(dying, 1)).isEqualTo(Answer.FULL);
        giveBack(heir, takenBy(heir).get(0));
        assertThat(take(dying, 1)).isInstanceOf(Answer.Granted.class);
        assertThat(redis.commands().hget(control, RedisLayout.CHANGES_FIELD)).isEqualTo(changes);
    }

    /** The engine renews nobody that holds nothing. */
    @Test
    void aWaiterIsToldToLookAgainBeforeItsOwnTimeIsOver() {
        takeHolds(redis.session("jobs", "detection=1h"), 2);
        assertThat(Redis.await(dying, 1).answers()).containsExactly(Answer.FULL);
        // It looks again when a part of its lease is over, and too much is left for a renewal in passing.
        RedisLayout layout = redis.layout("jobs");
        String waiter = redis.commands().zrange(layout.waiters(), 0, 0).get(0);
        redis.commands().zincrby(layout.lives(), -200, waiter);
        Deadline recheck = Redis.await(dying, 1).recheck();

        assertThat(recheck.isPast(endOf(waiter))).isTrue();
        assertThat(recheck.isPast(System.nanoTime())).as("at once").isFalse();
        await().pollInterval(Duration.ofMillis(1)).until(() -> recheck.isPast(System.nanoTime()));
        double before = redis.commands().zscore(layout.lives(), waiter);
        assertThat(Redis.await(dying, 1).answers()).containsExactly(Answer.FULL);
        assertThat(redis.commands().zscore(layout.lives(), waiter)).isGreaterThan(before);
    }

    @Test
    void whoDiedWithoutASlotIsRemovedByTheNextClientAlsoIfSlotsAreFree() {
        takeHolds(heir, 2);
        assertThat(Redis.await(dying, 1).answers()).containsExactly(Answer.FULL);
        dying.abort();
        heir.close();
        RedisLayout layout = redis.layout("jobs");
        assertThat(redis.commands().zcard(layout.waiters())).isEqualTo(1);

        await().until(() -> {
            BackendSession next = redis.session("jobs", SHORT);
            takeHolds(next, 1);
            next.close();
            return redis.commands().exists(layout.waiters(), layout.lives()) == 0
                    && redis.keys().stream().noneMatch(key -> key.matches(".*:[dr]:.*"));
        });
    }

    @Test
    void whoRenewsKeepsItsSlots() {
        List<Hold> holds = takeHolds(dying, 2);
        long end = System.nanoTime() + Duration.ofMillis(1_800).toNanos();
        while (System.nanoTime() - end < 0) {
            Renewal renewal = dying.renew(holds);
            assertThat(renewal.lost()).isEmpty();
            assertThat(renewal.validUntil().remaining()).isGreaterThan(Duration.ofMillis(600));
            assertThat(take(heir, 1)).isEqualTo(Answer.FULL);
        }
    }

    @Test
    void aHolderThatComesBackTooLateFreesNothingAndLearnsOfIt() {
        List<Hold> lost = takeHolds(dying, 2);
        inherit();

        assertThat(dying.check(lost.get(0))).isEqualTo(HoldState.LOST);
        assertThat(giveBack(dying, lost.get(0)).lost()).containsExactly(lost.get(0));
        assertThat(ear.lost).containsExactly(lost.get(1));
        assertThat(takenBy(heir)).allMatch(hold -> heir.check(hold) == HoldState.HELD);
        assertThat(take(dying, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void aRenewalBringsNobodyBack() {
        List<Hold> lost = takeHolds(dying, 2);
        inherit();

        assertThat(dying.renew(lost).lost()).containsExactlyInAnyOrderElementsOf(lost);
        assertThat(redis.commands().zcard(redis.layout("jobs").lives())).isEqualTo(1);
        heir.close();
        assertThat(dying.renew(lost).lost()).containsExactlyInAnyOrderElementsOf(lost);
        assertThat(redis.keys())
                .noneMatch(key -> key.equals(redis.layout("jobs").lives()));
    }

    @Test
    void whoRenewsLateButBeforeAnybodyElseWantedTheSlotStillHasIt() {
        List<Hold> holds = takeHolds(dying, 2);
        String lives = redis.layout("jobs").lives();
        String client = redis.commands().zrange(lives, 0, 0).get(0);
        redis.commands().zadd(lives, 1, client);

        assertThat(dying.renew(holds).lost()).isEmpty();
        assertThat(take(heir, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void aClientThatHeldNothingStartsAfreshAfterItsTime() {
        giveBack(dying, takeOne(dying));
        giveBack(heir, takeOne(heir));
        await().pollDelay(Duration.ofMillis(900)).until(() -> true);
        BackendSession third = redis.session("jobs", SHORT);
        takeHolds(third, 2);
        assertThat(take(third, 1)).isEqualTo(Answer.FULL);
        third.close();
        ExchangeResult result = Redis.ask(dying, 1);
        assertThat(result.answers().get(0)).isInstanceOf(Answer.Granted.class);
        assertThat(result.validUntil().remaining()).isGreaterThan(Duration.ofMillis(500));
        assertThat(ear.lost).isEmpty();
    }

    @Test
    void validityEndsBeforeTheServersClockShowsTheDeadline() {
        ExchangeResult result = Redis.ask(dying, 1);
        Hold hold = ((Answer.Granted) result.answers().get(0)).holds().get(0);
        String client =
                redis.commands().zrange(redis.layout("jobs").lives(), 0, 0).get(0);
        assertThat(result.validUntil().isPast(endOf(client))).isTrue();
        Renewal renewal = dying.renew(List.of(hold));
        assertThat(renewal.validUntil().isPast(endOf(client))).isTrue();
    }

    /** What the server took to answer came on top, and the slot of a dead holder stayed taken beyond the bound. */
    @Test
    void whoseFirstAnswerTookLongLivesNoLongerThanOthers() throws Exception {
        try (Relay relay = new Relay(RedisServer.address())) {
            String uri = redis.uri(SHORT, "timeout=5s").replace(RedisServer.address(), relay.uri());
            SemaphoreBackend remote = redis.track(
                    new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("remote")));
            BackendSession session = redis.session(remote, "jobs", new Redis.Ear());
            CountDownLatch asked = relay.holdAt("ZSCORE");
            CompletableFuture<Hold> taken = CompletableFuture.supplyAsync(() -> takeOne(session));
            assertThat(asked.await(60, TimeUnit.SECONDS)).isTrue();
            await().pollDelay(Duration.ofMillis(1_500)).until(() -> true);
            relay.goOn();

            assertThat(taken.get(60, TimeUnit.SECONDS)).isNotNull();
            String client =
                    redis.commands().zrange(redis.layout("jobs").lives(), 0, 0).get(0);
            assertThat(Duration.ofNanos(endOf(client) - System.nanoTime())).isLessThanOrEqualTo(Duration.ofMillis(850));
            session.close();
        }
    }

    /** What its way back took is missing in what is known of the server's clock, from which the first deadline counts. */
    @Test
    void whoseFirstAnswerCameBackLateIsGrantedASlotForAsLongAsOthers() throws Exception {
        try (Relay relay = new Relay(RedisServer.address())) {
            String uri = redis.uri(SHORT, "timeout=5s").replace(RedisServer.address(), relay.uri());
            SemaphoreBackend remote = redis.track(
                    new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("remote")));
            BackendSession session = redis.session(remote, "jobs", new Redis.Ear());
            CountDownLatch answered = relay.holdReplyTo("ZSCORE");
            CompletableFuture<ExchangeResult> taken = CompletableFuture.supplyAsync(() -> Redis.ask(session, 1));
            assertThat(answered.await(60, TimeUnit.SECONDS)).isTrue();
            await().pollDelay(Duration.ofMillis(900)).until(() -> true);
            relay.bringReply();

            ExchangeResult result = taken.get(60, TimeUnit.SECONDS);
            assertThat(result.answers().get(0)).isInstanceOf(Answer.Granted.class);
            assertThat(result.validUntil().remaining()).isGreaterThan(Duration.ofMillis(500));
            session.close();
        }
    }

    /** The local instant before which the server's clock cannot show a client's deadline. */
    private long endOf(String client) {
        long before = System.nanoTime();
        List<String> time = redis.commands().time();
        double deadline = redis.commands().zscore(redis.layout("jobs").lives(), client);
        long left = ((long) deadline) * 1_000 - (Long.parseLong(time.get(0)) * 1_000_000 + Long.parseLong(time.get(1)));
        return before + left * 1_000;
    }
}
