package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.ask;
import static io.github.distributedsemaphore.consul.Consul.giveBack;
import static io.github.distributedsemaphore.consul.Consul.take;
import static io.github.distributedsemaphore.consul.Consul.takeHolds;
import static io.github.distributedsemaphore.consul.Consul.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two clients at one semaphore of a real server, through the driven port. */
class ExchangeTest {
    /** While a thread has a value of it, it can start no watch: as where the system has no more threads. Counts. */
    private static final InheritableThreadLocal<AtomicInteger> NO_WATCHES = new InheritableThreadLocal<>() {
        @Override
        protected AtomicInteger childValue(AtomicInteger refused) {
            boolean ofWatch = StackWalker.getInstance()
                    .walk(frames ->
                            frames.anyMatch(frame -> frame.getClassName().equals(PrefixFollower.class.getName())));
            if (ofWatch) {
                refused.incrementAndGet();
                throw new OutOfMemoryError("a test: unable to create native thread");
            }
            return refused;
        }
    };

    private final ConsulServer server = ConsulServer.shared();
    private final String name = Consul.uniqueName();
    private final Consul.Losses losses = new Consul.Losses();
    private SemaphoreBackend backend;
    private SemaphoreBackend other;
    private BackendSession session;
    private BackendSession rival;

    @BeforeEach
    void open() {
        backend = Consul.open();
        other = Consul.open();
        assertThat(backend.admin().create(name, 3)).isTrue();
        session = backend.open(name, losses);
        rival = other.open(name, new Consul.Losses());
    }

    @AfterEach
    void close() {
        session.close();
        rival.close();
        server.deleteBelow(name);
        backend.close();
        other.close();
    }

    @Test
    void grantsExactlyTheLimitOverTwoClients() {
        assertThat(takeHolds(session, 2)).extracting(Hold::slot).containsExactly(1, 2);
        assertThat(takeHolds(rival, 1)).extracting(Hold::slot).containsExactly(3);
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
        assertThat(take(session, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void servesWantsInOrderEachWholeOrNotAtAll() {
        List<Answer> answers = ask(session, 2, 2, 1, 4).answers();

        assertThat(answers.get(0)).isInstanceOf(Answer.Granted.class);
        assertThat(answers.get(1)).isEqualTo(Answer.FULL);
        assertThat(answers.get(2)).isInstanceOf(Answer.Granted.class);
        assertThat(answers.get(3)).isEqualTo(new Answer.ExceedsLimit(3));
    }

    @Test
    void givesBackAndTakesInOneExchangeUnderHigherEpochs() {
        List<Hold> first = takeHolds(session, 3);
        ExchangeResult result = session.exchange(new ExchangeRequest(first, List.of(3), 5, false));

        List<Hold> second = ((Answer.Granted) result.answers().get(0)).holds();
        assertThat(result.lost()).isEmpty();
        for (int i = 0; i < 3; i++) {
            assertThat(second.get(i).slot()).isEqualTo(first.get(i).slot());
            assertThat(second.get(i).epoch()).isGreaterThan(first.get(i).lastEpoch());
            assertThat(second.get(i).lastEpoch() - second.get(i).epoch()).isEqualTo(4);
        }
    }

    @Test
    void epochsRiseOverDestroyAndCreate() {
        Hold before = takeOne(session);
        giveBack(session, before);
        assertThat(backend.admin().destroy(name)).isTrue();
        assertThat(take(session, 1)).isEqualTo(Answer.MISSING);
        backend.admin().create(name, 3);
        assertThat(takeOne(session).epoch()).isGreaterThan(before.lastEpoch());
    }

    @Test
    void aGrantForWhoseWatchThereIsNoThreadIsOneAndTheNextRenewalStartsTheWatch() {
        AtomicInteger refused = new AtomicInteger();
        List<Hold> holds = new ArrayList<>();
        assertThatCode(() -> {
                    NO_WATCHES.set(refused);
                    try {
                        holds.add(takeOne(session));
                    } finally {
                        NO_WATCHES.remove();
                    }
                })
                .doesNotThrowAnyException();
        Hold hold = holds.get(0);
        assertThat(refused).hasValue(1);
        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
        assertThat(session.renew(List.of(hold)).lost()).isEmpty();
        await("the watch")
                .until(() -> Thread.getAllStackTraces().keySet().stream()
                        .anyMatch(thread -> thread.getName().equals("semaphore-consul-watch " + name)));
    }

    @Test
    void whatIsNotHeldAnyMoreIsToldAsLost() {
        Hold hold = takeOne(session);
        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(giveBack(session, hold).lost()).containsExactly(hold);
        takeHolds(rival, 3);
        assertThat(giveBack(session, hold).lost()).containsExactly(hold);
        assertThat(take(session, 1)).isEqualTo(Answer.FULL);
    }

    @Test
    void aWarmPairCostsTwoChangesOfTheStore() {
        long least = Long.MAX_VALUE;
        Hold last = takeOne(session);
        for (int i = 0; i < 5; i++) {
            giveBack(session, last);
            Hold next = takeOne(session);
            least = Math.min(least, (next.epoch() - last.epoch()) / ExchangePlan.EPOCHS);
            last = next;
        }
        // The server writes things of its own now and then, so not every pair shows it.
        assertThat(least).isEqualTo(2);
    }

    @Test
    void manyPermitsAtOnceAreGrantedWholeAlthoughATransactionHoldsFewer() {
        String big = Consul.uniqueName();
        backend.admin().create(big, 150);
        try (BackendSession many = backend.open(big, losses)) {
            List<Hold> holds = takeHolds(many, 140);
            assertThat(holds).extracting(Hold::slot).doesNotHaveDuplicates().hasSize(140);
            assertThat(take(many, 11)).isEqualTo(Answer.FULL);
            assertThat(many.renew(holds).lost()).isEmpty();
            assertThat(many.exchange(new ExchangeRequest(holds, List.of(), 1, false))
                            .lost())
                    .isEmpty();
            assertThat(backend.admin().describe(big).orElseThrow().free()).isEqualTo(150);
        } finally {
            server.deleteBelow(big);
        }
    }

    @Test
    void aShrinkRetiresTheHighestSlotsAndLeavesTheRestUsable() {
        List<Hold> holds = takeHolds(session, 3);
        backend.admin().resize(name, 1);
        Renewal renewal = session.renew(holds);
        assertThat(renewal.retired()).containsExactlyInAnyOrder(holds.get(1), holds.get(2));
        assertThat(session.check(holds.get(2))).isEqualTo(HoldState.RETIRED);
        assertThat(backend.admin().retiredHolders(name)).isEqualTo(2);
        giveBack(session, holds.get(0));
        assertThat(takeOne(rival).slot()).isEqualTo(1);
        giveBack(session, holds.get(1), holds.get(2));
        assertThat(backend.admin().retiredHolders(name)).isZero();
    }

    @Test
    void anotherLimitIsAConflict() {
        assertThat(other.admin().create(name, 3)).isFalse();
        assertThatThrownBy(() -> other.admin().create(name, 4)).isInstanceOf(LimitConflictException.class);
        server.delete(name + "/.semaphore");
        assertThatThrownBy(() -> other.admin().create(name, 4))
                .as("with .lock, as the official client leaves it")
                .isInstanceOf(LimitConflictException.class);
        assertThat(other.admin().create(name, 3)).isTrue();
    }

    /** By ensure, which resizes where create finds another limit. */
    @Test
    void resizeTakesOverTheKeyThatAnOfficialClientLeft() {
        server.delete(name + "/.semaphore");
        server.put(name + "/.lock", "{\"Limit\":3,\"Holders\":{}}");
        assertThatThrownBy(() -> other.admin().create(name, 5)).isInstanceOf(LimitConflictException.class);
        other.admin().resize(name, 5);
        assertThat(other.admin().describe(name).orElseThrow().free()).isEqualTo(5);
        assertThat(takeHolds(session, 5)).hasSize(5);
    }

    @Test
    void theSemaphoreSurvivesThatTheOfficialClientDeletesItsKey() {
        Hold before = takeOne(session);
        giveBack(session, before);
        server.delete(name + "/.lock");
        assertThat(backend.admin().describe(name).orElseThrow().limit()).isEqualTo(3);
        assertThat(takeOne(rival).epoch()).isGreaterThan(before.lastEpoch());
        assertThat(takeOne(session).slot()).isEqualTo(2);
    }

    @Test
    void aHolderHearsWithinMomentsThatItsSlotWasTaken() {
        for (String way :
                List.of("lock deleted", "list emptied", "session destroyed", "contender deleted", "garbage")) {
            Hold hold = takeOne(session);
            String id = server.holders(name).get(0);
            switch (way) {
                case "lock deleted" -> server.delete(name + "/.lock");
                case "list emptied" -> server.put(name + "/.lock", "{\"Limit\":3,\"Holders\":{}}");
                case "session destroyed" -> server.destroySession(id);
                case "contender deleted" -> server.delete(name + "/" + id);
                default -> server.put(name + "/.lock", "garbage");
            }
            await(way).atMost(Duration.ofSeconds(3)).until(() -> losses.holds.contains(hold));
            assertThat(session.check(hold)).isEqualTo(HoldState.LOST);
        }
        assertThat(server.get(name + "/.lock")).isEqualTo("garbage");
    }

    /** As after a restore of the server's state, or where something between has sent a request again. */
    @Test
    void aSessionOfOursThatIsListedWithoutAHoldIsTakenOut() {
        Hold hold = takeOne(session);
        String id = server.holders(name).get(0);
        giveBack(session, hold);
        server.put(name + "/.lock", "{\"Limit\":3,\"Holders\":{\"" + id + "\":true}}");
        assertThat(takeHolds(rival, 2)).hasSize(2);
        assertThat(takeOne(session).slot()).isEqualTo(1);
        assertThat(take(rival, 1)).isEqualTo(Answer.FULL);
    }

    /** As after a restore of the server's state: the session is listed with the slot that it had then. */
    @Test
    void aHoldWhoseEntryIsAnotherOneIsLost() {
        Hold hold = takeOne(session);
        String id = server.holders(name).get(0);
        String entry = "{\"Slot\":2,\"Nonce\":\"earlier\",\"Host\":\"\",\"Pid\":0,\"Label\":\"\",\"Since\":\"\"}";
        server.send("PUT", "/v1/kv/" + name + "/" + id + "?acquire=" + id, entry);
        await().atMost(Duration.ofSeconds(3)).until(() -> losses.holds.contains(hold));
        assertThat(session.check(hold)).isEqualTo(HoldState.LOST);
    }

    @Test
    void aStateThatIsNoSemaphoreIsRefusedAndLeftAlone() {
        String flags = LockBody.FLAGS.toString();
        for (String[] state : new String[][] {
            {"{\"Limit\":3,\"Holders\":[\"x\"]}", flags},
            {"{\"Limit\":3,\"Holders\":null}", flags},
            {"{\"Limit\":3}", flags},
            {"{\"Limit\":\"3\",\"Holders\":{}}", flags},
            {"garbage", flags},
            {"{\"Limit\":3,\"Holders\":{}}", "0"},
            {"{\"Limit\":5,\"Holders\":{}}", flags},
        }) {
            server.put(name + "/.lock", state[0], state[1]);
            assertThatThrownBy(() -> take(session, 1))
                    .as(state[0])
                    .isInstanceOf(IncompatibleStateException.class)
                    .hasMessageContaining(name + "/.lock");
            assertThat(server.get(name + "/.lock")).isEqualTo(state[0]);
        }
    }

    /** The slot is given back, although the call that shares the exchange fails. */
    @Test
    void anAttemptBesideAReleaseIsToldThatTheLimitsDiffer() {
        Hold hold = takeOne(session);
        String id = server.holders(name).get(0);
        server.put(name + "/.lock", "{\"Limit\":5,\"Holders\":{\"" + id + "\":true}}");
        ExchangeRequest both = new ExchangeRequest(List.of(hold), List.of(1), 1, true, 1);
        assertThatThrownBy(() -> session.exchange(both)).isInstanceOf(IncompatibleStateException.class);
        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(server.keys()).doesNotContain(name + "/" + id);
    }

    @Test
    void aReleaseWakesAWaitingClientAtOnce() throws InterruptedException {
        List<Hold> holds = new ArrayList<>(takeHolds(session, 3));
        CountDownLatch hinted = new CountDownLatch(1);
        try (BackendSession.Watch watch = rival.watch(hinted::countDown)) {
            assertThat(watch).isNotNull();
            await("the waiter is seen").until(() -> othersWaitWhile(holds));
            assertThat(hinted.getCount()).as("nothing was free so far").isEqualTo(1);
            giveBack(session, holds.get(0));
            assertThat(hinted.await(1, TimeUnit.SECONDS)).isTrue();
            assertThat(take(rival, 1)).isInstanceOf(Answer.Granted.class);
        }
    }

    @Test
    void aHintThatThrowsDoesNotEndTheWatch() {
        List<Hold> holds = takeHolds(session, 3);
        AtomicInteger hints = new AtomicInteger();
        try (BackendSession.Watch watch = rival.watch(() -> {
            hints.incrementAndGet();
            throw new UnsupportedOperationException("planted");
        })) {
            assertThat(watch).isNotNull();
            giveBack(session, holds.get(0));
            await("the first hint").until(() -> hints.get() > 0);
            await("another one, although the first has thrown").until(() -> {
                Hold again = takeOne(session);
                int before = hints.get();
                giveBack(session, again);
                await().atMost(Duration.ofSeconds(5)).until(() -> hints.get() > before);
                return true;
            });
        }
    }

    /** Gives back what is held, takes as much again, and tells whether others wait. */
    private boolean othersWaitWhile(List<Hold> holds) {
        ExchangeResult result =
                session.exchange(new ExchangeRequest(List.copyOf(holds), List.of(holds.size()), 1, false));
        holds.clear();
        holds.addAll(((Answer.Granted) result.answers().get(0)).holds());
        return result.othersWaiting();
    }

    @Test
    void closeFreesAtOnceAlthoughAQueryIsOpen() {
        takeHolds(session, 3);
        long start = System.nanoTime();
        session.close();
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofMillis(500));
        assertThatThrownBy(() -> take(session, 1)).isInstanceOf(BackendUnavailableException.class);
        assertThat(takeHolds(rival, 3)).hasSize(3);
        await("the watch ends, and the other client's goes on")
                .atMost(Duration.ofSeconds(1))
                .until(() -> threads().stream()
                                .filter(thread -> thread.contains(name))
                                .count()
                        == 1);
    }

    private static List<String> threads() {
        return Thread.getAllStackTraces().keySet().stream().map(Thread::getName).toList();
    }

    @Test
    void anInterruptEndsNoCallAndIsNotSwallowed() {
        Thread.currentThread().interrupt();
        Hold hold = takeOne(session);
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        session.renew(List.of(hold));
        session.check(hold);
        giveBack(session, hold);
        backend.admin().describe(name);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void anIdleSessionThatHasEndedIsReplaced() {
        giveBack(session, takeOne(session));
        List<String> idle = server.keys().stream()
                .filter(key -> key.startsWith(name + "/") && !key.startsWith(name + "/."))
                .map(key -> key.substring(name.length() + 1))
                .toList();
        assertThat(idle).hasSize(1);
        idle.forEach(server::destroySession);
        assertThat(takeOne(session).slot()).isEqualTo(1);
    }

    @Test
    void aDeadHoldersPlaceIsTakenAndItsNameIsPruned() {
        takeHolds(rival, 3);
        List<String> dead = server.holders(name);
        rival.abort();
        dead.forEach(server::destroySession);
        takeOne(session);
        assertThat(server.holders(name)).hasSize(1).doesNotContainAnyElementsOf(dead);
    }
}
