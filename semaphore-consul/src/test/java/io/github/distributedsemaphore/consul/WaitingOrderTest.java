package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.giveBack;
import static io.github.distributedsemaphore.consul.Consul.take;
import static io.github.distributedsemaphore.consul.Consul.takeHolds;
import static io.github.distributedsemaphore.consul.Consul.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.consul.PrefixView.Contender;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Clients that wait are served in their order, and one that does not come holds up the others for a moment only. */
class WaitingOrderTest {
    private static final Duration LONG = Duration.ofMinutes(1);

    private final ConsulServer server = ConsulServer.shared();
    private final String name = Consul.uniqueName();
    private final SemaphoreBackend backend = Consul.open();
    private final SemaphoreBackend other = Consul.open();
    private final BackendSession session = backend.open(name, new Consul.Losses());
    private final BackendSession rival = other.open(name, new Consul.Losses());
    private final AtomicInteger hints = new AtomicInteger();

    @BeforeEach
    void create() {
        assertThat(backend.admin().create(name, 2)).isTrue();
    }

    @AfterEach
    void close() {
        session.close();
        rival.close();
        server.deleteBelow(name);
        backend.close();
        other.close();
    }

    private static ExchangeResult waitFor(BackendSession client, List<Hold> giveBack, Integer... wants) {
        return client.exchange(new ExchangeRequest(giveBack, List.of(wants), 1, true));
    }

    private static Answer first(ExchangeResult result) {
        return result.answers().get(0);
    }

    private List<String> waiting() {
        return server.keys().stream()
                .filter(key -> key.startsWith(name + "/"))
                .filter(key -> server.get(key).contains("\"Waiting\""))
                .toList();
    }

    private BackendSession.Watch awaitPlace(BackendSession client) {
        BackendSession.Watch watch = client.watch(hints::incrementAndGet);
        await("its place").until(() -> waiting().size() == 1);
        return watch;
    }

    /** The clients that wait are heard of by the watch, or read after a conflict. */
    private void awaitThatSessionSeesTheOther(Hold kept) {
        await("the other is seen")
                .until(() -> giveBack(session, takeOne(session)).othersWaiting());
        assertThat(session.check(kept)).isEqualTo(HoldState.HELD);
    }

    @Test
    void aClientThatGivesBackAndWantsAgainComesAfterTheOneThatWaits() {
        Hold kept = takeOne(session);
        BackendSession.Watch earlier = awaitPlace(rival);
        BackendSession.Watch later = session.watch(hints::incrementAndGet);
        awaitThatSessionSeesTheOther(kept);
        Hold hold = takeOne(session);
        ExchangeResult back = waitFor(session, List.of(hold), 1);
        assertThat(first(back)).isEqualTo(Answer.FULL);
        assertThat(back.recheck().isBefore(Deadline.after(System.nanoTime(), LONG)))
                .isTrue();
        await("both wait").until(() -> waiting().size() == 2);
        assertThat(first(waitFor(rival, List.of(), 1))).isInstanceOf(Answer.Granted.class);
        assertThat(waiting()).as("the one that is served waits no more").hasSize(1);
        later.close();
        earlier.close();
    }

    @Test
    void aCallThatTriesOnceTakesWhatIsFreeWhoeverWaits() {
        Hold kept = takeOne(session);
        try (BackendSession.Watch watch = awaitPlace(rival)) {
            assertThat(watch).isNotNull();
            awaitThatSessionSeesTheOther(kept);
            assertThat(take(session, 1)).isInstanceOf(Answer.Granted.class);
        }
    }

    @Test
    void aClientThatDoesNotComeIsPassedOver() {
        Hold kept = takeOne(session);
        try (BackendSession.Watch watch = awaitPlace(rival)) {
            assertThat(watch).isNotNull();
            awaitThatSessionSeesTheOther(kept);
            Hold hold = takeOne(session);
            assertThat(first(waitFor(session, List.of(hold), 1))).isEqualTo(Answer.FULL);
            await("it is passed over")
                    .pollInterval(Duration.ofMillis(10))
                    .until(() -> first(waitFor(session, List.of(), 1)) instanceof Answer.Granted);
        }
    }

    @Test
    void aClientWhosePlaceEndedWithItsSessionGetsAnother() {
        takeHolds(session, 2);
        try (BackendSession.Watch watch = awaitPlace(rival)) {
            assertThat(watch).isNotNull();
            String ended = waiting().get(0);
            server.destroySession(ended.substring(ended.lastIndexOf('/') + 1));
            await("another place").until(() -> {
                assertThat(first(waitFor(rival, List.of(), 1))).isEqualTo(Answer.FULL);
                return waiting().stream().anyMatch(key -> !key.equals(ended));
            });
        }
    }

    /** As an exchange leaves it that has prepared more slots than fit into one transaction, and was overtaken. */
    @Test
    void aPlaceWhoseEntryNamesASlotIsMadeAgain() {
        takeHolds(session, 2);
        try (BackendSession.Watch watch = awaitPlace(rival)) {
            assertThat(watch).isNotNull();
            String key = waiting().get(0);
            String id = key.substring(key.lastIndexOf('/') + 1);
            String flags = "&flags=" + LockBody.FLAGS;
            assertThat(server.send("PUT", "/v1/kv/" + key + "?acquire=" + id + flags, "{\"Slot\":1}")
                            .body())
                    .contains("true");
            await("made again").until(() -> waiting().size() == 1);
        }
    }

    /** Others pass by a client as long as fewer are free than its entry says. */
    @Test
    void aPlaceOfACallerThatWantedMoreAndHasLeftIsMadeAgain() {
        List<Hold> holds = takeHolds(session, 2);
        assertThat(first(waitFor(rival, List.of(), 2))).isEqualTo(Answer.FULL);
        try (BackendSession.Watch watch = awaitPlace(rival)) {
            assertThat(watch).isNotNull();
            assertThat(server.get(waiting().get(0))).contains("\"Waiting\":2");
            assertThat(first(waitFor(rival, List.of(), 1))).isEqualTo(Answer.FULL);
            giveBack(session, holds.get(0));
            await("it says what is wanted now")
                    .until(() ->
                            waiting().stream().anyMatch(key -> server.get(key).contains("\"Waiting\":1")));
        }
    }

    @Test
    void aPlaceWhoseEntryWasDeletedIsMadeAgain() {
        takeHolds(session, 2);
        try (BackendSession.Watch watch = awaitPlace(rival)) {
            assertThat(watch).isNotNull();
            server.delete(waiting().get(0));
            await("made again").until(() -> waiting().size() == 1);
        }
    }

    @Test
    void aContenderOfTheOfficialClientHasItsPlaceInTheOrder() {
        Hold kept = takeOne(session);
        String made = server.send("PUT", "/v1/session/create", "{\"TTL\":\"15s\",\"Behavior\":\"delete\"}")
                .body();
        String id = Json.text(Json.parse(made).getAsJsonObject(), "ID");
        server.send("PUT", "/v1/kv/" + name + "/" + id + "?acquire=" + id + "&flags=" + LockBody.FLAGS, "");
        awaitThatSessionSeesTheOther(kept);
        Hold hold = takeOne(session);
        assertThat(first(waitFor(session, List.of(hold), 1))).isEqualTo(Answer.FULL);
        server.destroySession(id);
    }

    @Test
    void aClientThatWaitsNoMoreLeavesItsPlace() {
        takeHolds(session, 2);
        BackendSession.Watch watch = awaitPlace(rival);
        watch.close();
        await("the place is given up").until(() -> waiting().isEmpty());
    }

    /** Nothing changes for as long as the query is open: the exchange itself sees to the place. */
    @Test
    void aClientThatHoldsHasItsPlaceAsSoonAsOneOfItsCallersWaits() {
        try (BrokenLink link = new BrokenLink(server.address());
                SemaphoreBackend seen = Consul.openAt("consul://" + link.address());
                BackendSession client = seen.open(name, new Consul.Losses())) {
            takeHolds(client, 2);
            await("a query that waits for news")
                    .until(() -> link.requests().stream()
                            .anyMatch(request -> request.contains("&index=") && !request.contains("&index=0")));
            BackendSession.Watch watch = client.watch(hints::incrementAndGet);
            await("its place").atMost(Duration.ofSeconds(2)).until(() -> {
                // The engine asks again by a timer.
                assertThat(first(waitFor(client, List.of(), 1))).isEqualTo(Answer.FULL);
                return waiting().size() == 1;
            });
            watch.close();
        }
    }

    // The order itself, without a server

    private static PrefixView view(long lockIndex, Set<String> holders, Contender... contenders) {
        Map<String, Contender> all = new HashMap<>();
        for (Contender contender : contenders) {
            all.put(contender.session(), contender);
        }
        return new PrefixView("p", 3, 1, new LockBody(3, holders, "n", false), lockIndex, all);
    }

    private static Contender holder(String session, long index) {
        return new Contender(session, index, 1, "n", null, "", 0);
    }

    @Test
    void theOrderIsThatOfThePlaces() {
        PrefixView view = view(
                9,
                Set.of("held"),
                Contender.waiting("late", 8, 1),
                Contender.waiting("early", 3, 1),
                Contender.waiting("own", 5, 1),
                Contender.waiting("held", 4, 1));
        WaitingOrder order = new WaitingOrder();
        WaitingOrder.Row row = order.row(view, Set.of("own"), "own", 0);
        assertThat(row.before()).extracting(Contender::session).containsExactly("early");
        assertThat(row.behind()).extracting(Contender::session).containsExactly("late");
        assertThat(order.row(view, Set.of("own"), null, 0).before())
                .as("before a client without a place")
                .extracting(Contender::session)
                .containsExactly("early", "late");
    }

    @Test
    void whoIsPassedOverIsCalledAgainLater() {
        Contender slow = Contender.waiting("slow", 3, 1);
        PrefixView view = view(9, Set.of(), slow);
        WaitingOrder order = new WaitingOrder();
        long patience = WaitingOrder.PATIENCE.toNanos();
        order.call(view, List.of(slow), 0);
        assertThat(order.row(view, Set.of(), null, patience - 1).before()).hasSize(1);
        assertThat(order.row(view, Set.of(), null, patience).before()).isEmpty();
        order.call(view, List.of(), patience);
        assertThat(order.row(view, Set.of(), null, 2 * patience).before()).isEmpty();
        assertThat(order.row(view, Set.of(), null, 11 * patience).before()).hasSize(1);
        PrefixView later = view(9, Set.of(), Contender.waiting("slow", 12, 1));
        assertThat(order.row(later, Set.of(), null, 2 * patience).before())
                .as("it has come back")
                .hasSize(1);
    }

    /** For whom a client leaves the one slot that is free, at each look in a while: nobody if it is an empty text. */
    private static List<String> looks(WaitingOrder order, PrefixView view, Duration from, Duration length) {
        List<String> first = new ArrayList<>();
        for (long now = from.toNanos(); now < from.plus(length).toNanos(); now += WaitingOrder.PATIENCE.toNanos()) {
            List<Contender> before = order.row(view, Set.of(), null, now).before();
            List<Contender> kept = before.subList(0, Math.min(1, before.size()));
            order.call(view, kept, now);
            first.add(kept.isEmpty() ? "" : kept.get(0).session());
        }
        return first;
    }

    private static PrefixView crowd(int number) {
        Map<String, Contender> crowd = new HashMap<>();
        for (int i = 1; i <= number; i++) {
            crowd.put("s" + i, Contender.waiting("s" + i, i, 1));
        }
        return new PrefixView("p", 2, 1, null, 0, crowd);
    }

    @Test
    void manyThatDoNotComeAreCalledOnceEachAndThenOneAtATime() {
        WaitingOrder order = new WaitingOrder();
        // All but the first have twice the time.
        Duration once = WaitingOrder.PATIENCE.multipliedBy(79);
        List<String> called = looks(order, crowd(40), Duration.ZERO, once);
        assertThat(Set.copyOf(called)).hasSize(40).doesNotContain("");
        assertThat(looks(order, crowd(40), once, LONG).stream().filter(String::isEmpty))
                .as("looks that leave the slot to nobody, of 1,200")
                .hasSizeGreaterThan(900);
        assertThat(looks(order, crowd(40), LONG.multipliedBy(60), WaitingOrder.PATIENCE.multipliedBy(3)))
                .as("after an hour without a free slot")
                .contains("");
    }

    /** The first of three is dead. The third takes the slot again and again, and leaves it to the second in between: not only while that waits for the first. */
    @Test
    void oneThatDoesNotComeKeepsNobodyElseFromItsTurn() {
        WaitingOrder second = new WaitingOrder();
        WaitingOrder third = new WaitingOrder();
        long step = Duration.ofMillis(5).toNanos();
        long nextOfThird = 0;
        long nextOfSecond = WaitingOrder.PATIENCE.toNanos() + step;
        boolean served = false;
        for (long now = 0; !served && now < LONG.toNanos(); now += step) {
            if (now >= nextOfThird && leavesToNobody(third, "s3", now)) {
                nextOfThird = now + 2 * WaitingOrder.PATIENCE.toNanos();
                nextOfSecond = nextOfThird + step;
            } else if (now >= nextOfThird) {
                nextOfThird = now + WaitingOrder.PATIENCE.toNanos();
            }
            if (now >= nextOfSecond) {
                served = leavesToNobody(second, "s2", now);
                nextOfSecond = now + WaitingOrder.PATIENCE.toNanos();
            }
        }
        assertThat(served).as("the second finds the slot free within a minute").isTrue();
    }

    private static boolean leavesToNobody(WaitingOrder order, String own, long now) {
        PrefixView view = crowd(3);
        List<Contender> before = order.row(view, Set.of(own), own, now).before();
        order.call(view, before.subList(0, Math.min(1, before.size())), now);
        return before.isEmpty();
    }

    @Test
    void whoIsPassedOverAmongManyIsCalledAgainToo() {
        List<String> called = looks(new WaitingOrder(), crowd(12), Duration.ZERO, LONG);
        for (int i = 1; i <= 12; i++) {
            assertThat(Collections.frequency(called, "s" + i))
                    .as("how often s%d is called in a minute", i)
                    .isGreaterThan(5);
        }
    }

    /** Or else it would be called at once again, as the first one of all. */
    @Test
    void aLaterTurnThatIsBrokenOffIsOneInVain() {
        Contender slow = Contender.waiting("slow", 3, 1);
        PrefixView view = view(9, Set.of(), slow);
        WaitingOrder order = new WaitingOrder();
        long patience = WaitingOrder.PATIENCE.toNanos();
        order.call(view, List.of(slow), 0);
        order.call(view, List.of(slow), 11 * patience);
        order.call(view, List.of(), 11 * patience + 1);
        assertThat(order.row(view, Set.of(), null, 12 * patience).before()).isEmpty();
    }

    @Test
    void aLookThatIsBehindTellsWhoWaitsAndTakesNoHolderAway() {
        PrefixView known = view(
                9,
                Set.of("other", "own"),
                holder("other", 4),
                holder("own", 9),
                Contender.waiting("gone", 5, 1),
                Contender.waiting("place", 9, 1));
        PrefixView behind = view(
                7,
                Set.of("other"),
                Contender.waiting("own", 6, 1),
                Contender.waiting("new", 8, 1),
                Contender.waiting("place", 2, 1));
        PrefixView merged = known.withWaitingOf(behind, Set.of("own", "place"));
        assertThat(merged.lockIndex()).isEqualTo(9);
        assertThat(merged.liveHolders()).containsExactlyInAnyOrder("other", "own");
        assertThat(merged.contenders()).containsOnlyKeys("other", "own", "new", "place");
        assertThat(merged.contenders().get("place").modifyIndex()).isEqualTo(9);
    }

    @Test
    void aClientFarBackLooksMoreSeldom() {
        PrefixView view = crowd(100);
        assertThat(WaitingOrder.pause(view, "s1")).isZero();
        assertThat(WaitingOrder.pause(view, "s17")).isZero();
        assertThat(WaitingOrder.pause(view, "s18")).isEqualTo(Duration.ofMillis(10));
        assertThat(WaitingOrder.pause(view, "s37")).isEqualTo(Duration.ofMillis(200));
        assertThat(WaitingOrder.pause(view, "s100")).isEqualTo(Duration.ofMillis(500));
        assertThat(WaitingOrder.pause(view, null)).isEqualTo(Duration.ofMillis(500));
    }
}
