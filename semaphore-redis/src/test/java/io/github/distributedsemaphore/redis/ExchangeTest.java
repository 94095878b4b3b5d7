package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.ask;
import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What an exchange grants, refuses and gives back, with two clients. */
class ExchangeTest {
    /** On a busy machine too. */
    private static final Duration LITTLE = Duration.ofSeconds(5);

    private Redis redis;
    private SemaphoreBackend backend;
    private BackendSession session;
    private BackendSession rival;

    @BeforeEach
    void open() {
        redis = new Redis();
        backend = redis.backend();
        backend.admin().create("jobs", 3);
        session = redis.session(backend, "jobs", new Redis.Ear());
        rival = redis.session("jobs");
    }

    @AfterEach
    void close() {
        redis.close();
    }

    @Test
    void grantsExactlyTheLimitOverTwoClients() {
        assertThat(takeHolds(session, 2)).extracting(Hold::slot).containsExactly(1, 2);
        assertThat(takeHolds(rival, 1)).extracting(Hold::slot).containsExactly(3);
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
        assertThat(take(session, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void whoMeetsNobodyReadsNoMoreThanTheControlAndTheQueue() {
        giveBack(session, takeOne(session));
        long lives = redis.calls("zscore");
        long slots = redis.calls("smembers");
        long watches = redis.calls("watch");
        long told = redis.calls("publish");
        giveBack(session, takeOne(session));

        assertThat(redis.calls("watch") - watches)
                .as("the watch that begins behind the acquire outlasts the release")
                .isEqualTo(1);
        assertThat(redis.calls("zscore")).isEqualTo(lives);
        assertThat(redis.calls("smembers")).isEqualTo(slots);
        assertThat(redis.calls("publish")).isEqualTo(told);
    }

    @Test
    void servesWantsInOrderEachWholeOrNotAtAll() {
        List<Answer> answers = ask(session, 2, 2, 1, 4).answers();

        assertThat(answers.get(0)).isInstanceOf(Answer.Granted.class);
        assertThat(answers.get(1)).isEqualTo(Answer.FULL);
        assertThat(answers.get(2)).isInstanceOf(Answer.Granted.class);
        assertThat(answers.get(3)).isEqualTo(new Answer.ExceedsLimit(3));
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void aRefusedGroupLeavesEverySlotFree() {
        takeOne(rival);
        assertThat(take(session, 3)).isEqualTo(Answer.FULL);
        assertThat(takeHolds(rival, 2)).hasSize(2);
    }

    @Test
    void whoWantsTwoTogetherAndFindsOneDoesNotTakeThatOneEvenForAMoment() {
        // So the session believes all to be free, and would try the first two.
        giveBack(session, takeOne(session));
        giveBack(rival, takeHolds(rival, 3).get(1));
        Map<String, String> counts =
                redis.commands().hgetall(redis.layout("jobs").epochs());

        assertThat(take(session, 2)).isEqualTo(Answer.FULL);
        assertThat(redis.commands().hgetall(redis.layout("jobs").epochs()))
                .as("counts that rise with each attempt at a slot: others would have been refused meanwhile")
                .isEqualTo(counts);
    }

    @Test
    void aSlotGivenBackInTheSameExchangeIsGrantedAgainWithAHigherEpoch() {
        List<Hold> all = takeHolds(session, 3);
        ExchangeResult result = session.exchange(new ExchangeRequest(all, List.of(3), 5, false));

        assertThat(result.lost()).isEmpty();
        List<Hold> again = ((Answer.Granted) result.answers().get(0)).holds();
        for (int i = 0; i < 3; i++) {
            assertThat(again.get(i).slot()).isEqualTo(all.get(i).slot());
            assertThat(again.get(i).epoch()).isGreaterThan(all.get(i).lastEpoch());
            assertThat(again.get(i).lastEpoch()).isEqualTo(again.get(i).epoch() + 4);
        }
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void givingBackTwiceFreesNobodyElsesSlot() {
        Hold hold = takeOne(session);
        giveBack(session, hold);
        Hold successor = takeOne(rival);

        assertThat(successor.slot()).isEqualTo(hold.slot());
        assertThat(giveBack(session, hold).lost()).containsExactly(hold);
        assertThat(rival.check(successor)).isEqualTo(HoldState.HELD);
    }

    @Test
    void epochsOfASlotRiseOverClients() {
        long last = 0;
        for (int i = 0; i < 20; i++) {
            BackendSession taker = i % 2 == 0 ? session : rival;
            Hold hold = takeOne(taker);
            assertThat(hold.slot()).isEqualTo(1);
            assertThat(hold.epoch()).isGreaterThan(last);
            last = hold.lastEpoch();
            giveBack(taker, hold);
        }
    }

    @Test
    void missingIsAnAnswerOfItsOwn() {
        BackendSession nowhere = redis.session("nowhere");
        assertThat(ask(nowhere, 1, 2).answers()).containsExactly(Answer.MISSING, Answer.MISSING);
        assertThat(redis.keys()).noneMatch(key -> key.contains("nowhere"));
    }

    @Test
    void holdsThatAreNotKnownAreLostAndHarmless() {
        Hold foreign = takeOne(rival);
        Hold invented = new Hold(foreign.slot(), foreign.epoch(), foreign.lastEpoch());
        assertThat(giveBack(session, invented).lost()).containsExactly(invented);
        assertThat(session.check(invented)).isEqualTo(HoldState.LOST);
        assertThat(rival.check(foreign)).isEqualTo(HoldState.HELD);
    }

    @Test
    void aClosedSessionFreesEverythingAtOnceAndLeavesNothing() {
        takeHolds(session, 3);
        session.close();
        List<Hold> all = takeHolds(rival, 3);
        assertThat(all).hasSize(3);
        rival.close();
        assertThat(redis.keys()).noneMatch(key -> key.matches(".*:[dr]:.*"));
        assertThat(redis.commands().zcard(redis.layout("jobs").lives())).isZero();
        backend.admin().destroy("jobs");
        assertThat(redis.keys()).isEmpty();
    }

    @Test
    void anInterruptNeitherEndsACallNorIsLost() {
        Thread.currentThread().interrupt();
        Hold hold = takeOne(session);
        assertThat(session.renew(List.of(hold)).lost()).isEmpty();
        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
        giveBack(session, hold);
        assertThat(Thread.interrupted()).isTrue();
    }

    /** That is done before the request is sent, and the time of the call runs meanwhile. */
    @Test
    void whatTakesOrGivesBackTheMostSlotsIsPlannedInLittleTime() {
        List<Integer> slots =
                IntStream.rangeClosed(1, Control.MAX_LIMIT).boxed().toList();
        long now = System.nanoTime();
        Control control = new Control(Control.MAX_LIMIT, Control.MAX_LIMIT, 1, "", "");
        View.Base base = new View.Base(control, 0, Long.MAX_VALUE, 0, now, now);
        View view = new View(base, null, slots, true, List.of(), now, View.Watch.CONTROL, true);
        RedisSettings settings = RedisSettings.from(BackendUri.parse(redis.uri()), HolderInfo.ofThisProcess("test"));
        try (RedisConnections unused = new RedisConnections(settings.servers(), true)) {
            Planner planner = new Planner(new RedisLiveness(redis.layout("jobs"), unused, settings, () -> {}));
            assertTimeoutPreemptively(LITTLE, () -> {
                Step take = planner.next(new Attempt(request(List.of(), Control.MAX_LIMIT)), view);
                assertThat(take.claims()).isEqualTo(slots);
                assertThat(view.after(take).free()).isEmpty();
            });
            List<Hold> holds = slots.stream().map(slot -> new Hold(slot, 1, 1)).toList();
            View full = new View(base, null, List.of(), true, List.of(), now, View.Watch.CONTROL, true);
            assertTimeoutPreemptively(LITTLE, () -> {
                Attempt swap = new Attempt(request(holds, Control.MAX_LIMIT));
                swap.toGiveBack().addAll(holds);
                assertThat(planner.next(swap, full).retains()).isEqualTo(holds);
                Attempt back = new Attempt(request(holds));
                back.toGiveBack().addAll(holds);
                assertThat(full.after(planner.next(back, full)).free()).isEqualTo(slots);
            });
        }
    }

    private static ExchangeRequest request(List<Hold> giveBack, Integer... wants) {
        return new ExchangeRequest(giveBack, List.of(wants), 1, false);
    }

    @Test
    void manySlotsAreFoundUntilTheLastOne() {
        backend.admin().create("many", 300);
        BackendSession many = redis.session(backend, "many", new Redis.Ear());
        BackendSession others = redis.session("many");
        for (int i = 0; i < 150; i++) {
            takeOne(many);
            takeOne(others);
        }
        assertThat(take(many, 1)).isEqualTo(Answer.FULL);
        assertThat(take(others, 1)).isEqualTo(Answer.FULL);
    }
}
