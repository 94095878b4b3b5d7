package io.github.distributedsemaphore.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.FaultyStore.Fate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the helper makes of a store: the driven port, with requests and answers that are lost. */
class CasBackendTest {
    private static final long LEASE_MILLIS = 9_000;

    private final FaultyStore store = new FaultyStore();
    private final CasBackend backend = client();
    private final BackendSession session = backend.open("jobs", new Silent());

    private CasBackend client() {
        CasBackend.Settings settings = new CasBackend.Settings(
                new HolderInfo("host", 1, "a b\u00e4%"), Duration.ofSeconds(10), Duration.ofSeconds(2), Duration.ZERO);
        return new CasBackend("store", store, settings, more -> more);
    }

    @Test
    void aPollThatMissesEachCallIsRefused() {
        HolderInfo self = new HolderInfo("host", 1, "");
        assertThatThrownBy(() -> new CasBackend.Settings(
                        self, Duration.ofSeconds(10), Duration.ofSeconds(2), Duration.ofMillis(201)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("201ms")
                .hasMessageContaining("200ms");
    }

    /** No session of this backend says anything of its own accord. */
    private static class Silent implements SessionListener {
        @Override
        public void lost(Collection<Hold> holds, String reason) {
            throw new AssertionError(reason);
        }

        @Override
        public void ended(String reason) {
            throw new AssertionError(reason);
        }
    }

    @BeforeEach
    void create() {
        assertThat(backend.admin().create("jobs", 2)).isTrue();
    }

    private static ExchangeRequest request(List<Hold> giveBack, Integer... wants) {
        return new ExchangeRequest(giveBack, List.of(wants), 10, false);
    }

    private List<Hold> take(BackendSession by, int permits) {
        return granted(by.exchange(request(List.of(), permits)));
    }

    private static List<Hold> granted(ExchangeResult result) {
        return ((Answer.Granted) result.answers().get(0)).holds();
    }

    private SemaphoreDescription described() {
        return backend.admin().describe("jobs").orElseThrow();
    }

    @Test
    void anAcquireOrAReleaseThatMeetsNobodyIsOneRequest() {
        List<Hold> first = take(session, 1);
        store.requests.set(0);

        List<Hold> second = granted(session.exchange(request(first, 1)));
        ExchangeResult released = session.exchange(request(second));

        assertThat(store.requests).hasValue(2);
        assertThat(released.lost()).isEmpty();
        assertThat(second.get(0).epoch()).isGreaterThan(first.get(0).lastEpoch());
    }

    @Test
    void aRefusalRestsOnWhatIsStoredNow() {
        BackendSession other = client().open("jobs", new Silent());
        List<Hold> all = take(session, 2);
        assertThat(other.exchange(request(List.of(), 1)).answers()).containsExactly(Answer.FULL);

        ExchangeResult unused = session.exchange(request(all));

        assertThat(take(other, 2)).hasSize(2);
    }

    @Test
    void aGrantWhoseAnswerIsLostIsFound() {
        store.expect(Fate.ANSWER_LOST);
        ExchangeRequest request = request(List.of(), 2, 1);
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(OutcomeUnknownException.class);

        ExchangeResult found = session.resolve(request);

        assertThat(granted(found))
                .hasSize(2)
                .allSatisfy(hold -> assertThat(session.check(hold)).isEqualTo(HoldState.HELD));
        assertThat(found.answers().get(1)).isEqualTo(Answer.NOT_DONE);
        assertThat(described().free()).isZero();
    }

    @Test
    void aGrantOfASlotThatWasRemovedMeanwhileIsNotFound() {
        store.expect(Fate.ANSWER_LOST);
        ExchangeRequest request = request(List.of(), 2);
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(OutcomeUnknownException.class);
        client().admin().resize("jobs", 1);

        assertThat(session.resolve(request).answers()).containsExactly(Answer.NOT_DONE);
        assertThat(described().free()).isEqualTo(1);
    }

    @Test
    void aGrantIsFoundAlsoIfItsAnswerFailsByAnError() {
        store.expect(Fate.ANSWER_FAILS);
        ExchangeRequest request = request(List.of(), 1);
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(InternalError.class);

        ExchangeResult found = session.resolve(request);

        assertThat(session.check(granted(found).get(0))).isEqualTo(HoldState.HELD);
    }

    @Test
    void aRequestThatIsLostIsNotDoneAndGivesBackWhatItWasTo() {
        List<Hold> held = take(session, 1);
        store.expect(Fate.REQUEST_LOST);
        ExchangeRequest request = request(held, 2);
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(OutcomeUnknownException.class);

        ExchangeResult found = session.resolve(request);

        assertThat(found.answers()).containsExactly(Answer.NOT_DONE);
        assertThat(found.lost()).isEmpty();
        assertThat(described().free()).isEqualTo(2);
    }

    @Test
    void aRequestThatIsLateDoesNothingAfterItsOutcomeWasFoundOut() {
        store.expect(Fate.LATE, Fate.ANSWER_LOST);
        ExchangeRequest request = request(List.of(), 1);
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(OutcomeUnknownException.class);
        assertThatThrownBy(() -> session.resolve(request)).isInstanceOf(OutcomeUnknownException.class);
        assertThat(session.resolve(request).answers()).containsExactly(Answer.NOT_DONE);

        assertThat(store.deliver()).as("whether the late request did anything").isFalse();

        assertThat(described().free()).isEqualTo(2);
    }

    @Test
    void aRequestThatIsLateDoesNothingAfterItsSessionWasClosed() {
        store.expect(Fate.LATE);
        assertThatThrownBy(() -> session.exchange(request(List.of(), 1))).isInstanceOf(OutcomeUnknownException.class);
        session.close();

        assertThat(store.deliver()).as("whether the late request did anything").isFalse();

        assertThat(described().free()).isEqualTo(2);
    }

    @Test
    void ofTwoLooksThatArePlannedTheEarlierOneIsTaken() {
        store.requests.set(0);

        backend.tendLater("jobs", OptionalLong.of(300));
        backend.tendLater("jobs", OptionalLong.of(50));

        await("one look").during(Duration.ofMillis(600)).until(() -> store.requests.get() <= 1);
        assertThat(store.requests).hasValue(1);
    }

    @Test
    void aLookThatGetsNoThreadKeepsNoLaterOneAway() {
        AtomicInteger tasks = new AtomicInteger();
        BackendSession unused = backend.open("other", new Silent() {
            @Override
            public void execute(Runnable task) {
                if (tasks.incrementAndGet() == 1) {
                    throw new InternalError("made by a test");
                }
                task.run();
            }
        });
        store.requests.set(0);
        backend.tendLater("jobs", OptionalLong.of(1));
        await("one has failed").until(() -> tasks.get() == 1);

        await("a later one is made").until(() -> {
            backend.tendLater("jobs", OptionalLong.of(1));
            return store.requests.get() > 0;
        });
    }

    /** What was seen last may be some seconds old. */
    @Test
    void aHolderIsThereSinceItsGrant() {
        CasStore.Entry seen = store.read("jobs", Deadline.NEVER);
        long later = seen.clockMillis() + 9_000;
        CasRow row = CasRow.parse("jobs", seen, later, later, LEASE_MILLIS);

        Answer unused = row.grant("session", new HolderInfo("host", 1, ""), 1, 1, false);

        assertThat(row.held.get(1).since()).isEqualTo(later);
    }

    @Test
    void aReleaseWhoseAnswerIsLostIsNoLoss() {
        List<Hold> held = take(session, 1);
        store.expect(Fate.ANSWER_LOST);
        ExchangeRequest request = request(held);
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(OutcomeUnknownException.class);

        assertThat(session.resolve(request).lost()).isEmpty();
    }

    /** Its answer tells of an older row than the session knows by now. */
    @Test
    void aRenewalThatIsOvertakenByAnExchangeTakesNothingFromWhatIsKnown() {
        List<Hold> renewed = take(session, 1);
        List<Hold> meanwhile = new ArrayList<>();
        store.beforeNextAnswer(() -> meanwhile.addAll(take(session, 1)));
        assertThat(session.renew(renewed).lost()).isEmpty();
        store.requests.set(0);

        assertThat(session.exchange(request(meanwhile)).lost()).isEmpty();

        assertThat(store.requests).as("requests of the release").hasValue(1);
    }

    @Test
    void aReleaseIsNoLossIfOnlyAnOlderRowLacksIt() {
        CasStore.Entry older = store.read("jobs", Deadline.NEVER);
        List<Hold> held = take(session, 1);
        CasStore.Entry newer = store.read("jobs", Deadline.NEVER);
        store.failOver("jobs", older);
        assertThat(session.exchange(request(List.of(), 3)).answers()).containsExactly(new Answer.ExceedsLimit(2));
        store.failOver("jobs", newer);
        store.expect(Fate.REQUEST_LOST);
        ExchangeRequest request = request(held, 1);
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(OutcomeUnknownException.class);

        assertThat(session.resolve(request).lost()).isEmpty();

        assertThat(described().free()).isEqualTo(2);
    }

    @Test
    void aLeaseEndsByTheServersClockUnlessItIsRenewed() {
        Hold kept = take(session, 1).get(0);
        BackendSession other = client().open("jobs", new Silent());
        Hold left = take(other, 1).get(0);
        store.passes(LEASE_MILLIS - 1_000);
        Renewal renewal = session.renew(List.of(kept));
        assertThat(renewal.lost()).isEmpty();
        store.passes(2_000);

        assertThat(other.check(left)).isEqualTo(HoldState.LOST);
        assertThat(session.check(kept)).isEqualTo(HoldState.HELD);
        assertThat(other.renew(List.of(left)).lost()).containsExactly(left);
        assertThat(take(session, 1).get(0).slot()).isEqualTo(left.slot());
    }

    @Test
    void aClockThatIsSetForwardsShortensTheValidity() {
        ExchangeResult before = session.exchange(request(List.of(), 1));
        store.passes(4_000);
        ExchangeResult after = session.exchange(request(List.of(), 1));

        Duration much = before.validUntil().remaining();
        assertThat(after.validUntil().remaining())
                .as("validity of a lease whose end was computed by the clock before it was set")
                .isLessThan(much.minusSeconds(3));
    }

    @Test
    void aSuccessorInTheSameSessionIsNotGivenBackByItsPredecessor() {
        Hold former = take(session, 2).get(0);
        store.passes(LEASE_MILLIS + 1);
        List<Hold> successors = take(session, 2);

        assertThat(session.exchange(request(List.of(former))).lost()).containsExactly(former);
        assertThat(successors)
                .allSatisfy(hold -> assertThat(session.check(hold)).isEqualTo(HoldState.HELD));
    }

    @Test
    void epochsRiseOverDestructionAlthoughNothingIsKept() {
        List<Hold> before = take(session, 2);
        ExchangeResult unused = session.exchange(request(before));
        store.passes(50);
        assertThat(backend.admin().destroy("jobs")).isTrue();
        assertThat(store.isEmpty()).isTrue();
        store.passes(50);
        create();

        assertThat(take(session, 1).get(0).epoch()).isGreaterThan(before.get(1).lastEpoch());
    }

    /** Another client may be granted a slot in the very millisecond of the destruction. */
    @Test
    void epochsRiseAlsoIfItIsDestroyedAndCreatedAgainInOneMillisecond() {
        List<Hold> before = take(session, 2);
        ExchangeResult unused = session.exchange(request(before));

        assertThat(backend.admin().destroy("jobs")).isTrue();
        assertThat(backend.admin().names()).isEmpty();
        create();

        assertThat(take(session, 1).get(0).epoch()).isGreaterThan(before.get(1).lastEpoch());
    }

    /** Grants one permit upon what was seen {@code age} ago, by an answer that had taken a while. */
    private Hold grantUpon(CasStore.Entry known, Duration age, Duration answerTook) {
        long received = System.nanoTime() - age.toNanos();
        CasBackend.Seen seen = new CasBackend.Seen(known, received - answerTook.toNanos(), received);
        List<Answer> answers = new ArrayList<>();
        CasBackend.Outcome unused = backend.change("jobs", seen, backend.deadline(), row -> {
            answers.clear();
            answers.add(row.grant("remembers", backend.settings.self(), 1, 1, false));
        });
        return ((Answer.Granted) answers.get(0)).holds().get(0);
    }

    @Test
    void epochsRiseOverAFailOverAlsoForAClientThatRemembersTheRow() {
        CasStore.Entry replicated = backend.look("jobs").seen().entry();
        store.passes(5_000);
        Hold notReplicated = take(client().open("jobs", new Silent()), 1).get(0);
        store.failOver("jobs", replicated);
        store.passes(3_000);

        Hold next = grantUpon(replicated, Duration.ofSeconds(8), Duration.ZERO);

        assertThat(next.epoch()).isGreaterThan(notReplicated.lastEpoch());
    }

    @Test
    void theTimeThatAnAnswerTookPutsEpochsNotAheadOfTheClock() {
        CasStore.Entry known = backend.look("jobs").seen().entry();
        store.passes(1_000);

        Hold granted = grantUpon(known, Duration.ofSeconds(1), Duration.ofSeconds(7));

        assertThat(granted.lastEpoch() / CasRow.EPOCHS_PER_MILLI).isLessThanOrEqualTo(known.clockMillis() + 1_000);
    }

    /** Or else the slot of a dead holder is taken for so much longer. */
    @Test
    void theTimeThatAnAnswerTookMakesNoLeaseLonger() {
        CasStore.Entry known = backend.look("jobs").seen().entry();
        store.passes(1_000);

        Hold unused = grantUpon(known, Duration.ofSeconds(1), Duration.ofSeconds(7));

        String hold = store.text("jobs")
                .lines()
                .filter(line -> line.startsWith("hold"))
                .findFirst()
                .orElseThrow();
        assertThat(Long.parseLong(hold.split(" ", -1)[5]) - known.clockMillis() - 1_000)
                .as("how long the lease lasts")
                .isBetween(LEASE_MILLIS - 100, LEASE_MILLIS + 1_000);
    }

    /** The server that answers next may be a replica that lacks what this client has seen. */
    @Test
    void aFailedRenewalForgetsTheRow() {
        List<Hold> held = take(session, 1);
        store.expect(Fate.REQUEST_LOST);
        assertThatThrownBy(() -> session.renew(held)).isInstanceOf(OutcomeUnknownException.class);
        store.requests.set(0);

        List<Hold> unused = take(session, 1);

        assertThat(store.requests).as("a read and a write").hasValue(2);
    }

    @Test
    void whatIsDestroyedInTheMillisecondOfAGrantIsRemovedAfterIt() {
        ExchangeResult unused = session.exchange(request(take(session, 2)));
        assertThat(backend.admin().destroy("jobs")).isTrue();
        assertThat(store.isEmpty())
                .as("removed before the clock passed its epochs")
                .isFalse();

        store.passes(2);

        await().until(store::isEmpty);
    }

    /** What is left is removed within the same time: else a call takes twice the time-out. */
    @Test
    void aDestructionHasOneDeadline() {
        ExchangeResult unused = session.exchange(request(take(session, 2)));
        store.ends.clear();

        assertThat(backend.admin().destroy("jobs")).isTrue();

        assertThat(store.ends.values()).containsOnlyOnce(Thread.currentThread());
    }

    @Test
    void aResizeThatIsLateDoesNothingAfterAnotherOneEvenIfThatFindsItsLimit() {
        store.expect(Fate.LATE);
        assertThatThrownBy(() -> backend.admin().resize("jobs", 5)).isInstanceOf(OutcomeUnknownException.class);
        backend.admin().resize("jobs", 2);

        assertThat(store.deliver()).as("whether the late request did anything").isFalse();

        assertThat(described().limit()).isEqualTo(2);
    }

    @Test
    void aCreationThatIsLateDoesNothingAfterADestructionOfWhatWasLeft() {
        List<Hold> unused = take(session, 1);
        assertThat(backend.admin().destroy("jobs")).isTrue();
        store.expect(Fate.LATE);
        assertThatThrownBy(() -> backend.admin().create("jobs", 2)).isInstanceOf(OutcomeUnknownException.class);
        assertThat(backend.admin().destroy("jobs")).isFalse();

        assertThat(store.deliver()).as("whether the late request did anything").isFalse();

        assertThat(backend.admin().describe("jobs")).isEmpty();
    }

    private static ExchangeRequest waiting(List<Hold> giveBack, Integer... wants) {
        return new ExchangeRequest(giveBack, List.of(wants), 10, true);
    }

    private BackendSession waiter(int permits) {
        BackendSession waiter = client().open("jobs", new Silent());
        assertThat(waiter.exchange(waiting(List.of(), permits)).answers()).containsExactly(Answer.FULL);
        return waiter;
    }

    @Test
    void aWaiterIsCalledAndNobodyIfNobodyWaits() {
        List<Hold> all = take(session, 2);
        ExchangeResult unused = session.exchange(request(all));
        assertThat(store.hints).as("hints while nobody waits").isEmpty();
        List<Hold> again = take(session, 2);
        BackendSession unusedWaiter = waiter(1);

        ExchangeResult released = session.exchange(request(again));

        assertThat(store.hints).as("hints while one waits").hasSize(1);
        assertThat(released.othersWaiting()).isTrue();
    }

    /** Its line counts for four seconds. A lease lasts nine, and a client may ask once a minute of its own accord. */
    @Test
    void aWaiterAsksAgainBeforeItCountsNoMore() {
        List<Hold> unused = take(session, 2);
        ExchangeResult refused = client().open("jobs", new Silent()).exchange(waiting(List.of(), 1));
        assertThat(refused.recheck().nanosFrom(System.nanoTime())).isLessThanOrEqualTo(2_000_000_000L);
    }

    /** Nobody calls it, for it has no line. The bound of a wake-up does not depend on how often a client asks of its own accord. */
    @Test
    void aWaiterThatFindsNoPlaceAsksAgainWithinASecond() {
        List<Hold> unused = take(session, 2);
        for (int i = 0; i < 16; i++) {
            BackendSession unusedWaiter = waiter(1);
        }
        BackendSession last = client().open("jobs", new Silent());

        ExchangeResult refused = last.exchange(waiting(List.of(), 1));

        assertThat(refused.recheck().nanosFrom(System.nanoTime())).isLessThanOrEqualTo(1_000_000_000L);
        ExchangeResult attempt = last.exchange(request(List.of(), 1));
        assertThat(attempt.recheck().nanosFrom(System.nanoTime()))
                .as("of one that does not wait")
                .isGreaterThan(1_000_000_000L);
    }

    @Test
    void whatIsFreedIsKeptForTheFirstThatWaits() {
        List<Hold> held = take(session, 2);
        BackendSession first = waiter(1);
        BackendSession second = waiter(1);

        ExchangeResult released = session.exchange(waiting(List.of(held.get(0)), 1));

        assertThat(released.answers())
                .as("of the client that gave it back and wants another one")
                .containsExactly(Answer.FULL);
        assertThat(second.exchange(waiting(List.of(), 1)).answers()).containsExactly(Answer.FULL);
        assertThat(granted(first.exchange(waiting(List.of(), 1)))).hasSize(1);
    }

    @Test
    void anAttemptTakesWhatIsKeptForAWaiter() {
        List<Hold> held = take(session, 2);
        BackendSession first = waiter(1);
        ExchangeResult unused = session.exchange(request(List.of(held.get(0))));

        assertThat(take(client().open("jobs", new Silent()), 1)).hasSize(1);

        assertThat(first.exchange(waiting(List.of(), 1)).answers()).containsExactly(Answer.FULL);
    }

    @Test
    void aWaiterThatDoesNotComeKeepsNothingFromOthersForLong() {
        List<Hold> held = take(session, 2);
        BackendSession dead = waiter(1);
        BackendSession next = waiter(1);
        dead.abort();
        ExchangeResult unused = session.exchange(request(List.of(held.get(0))));
        ExchangeResult refused = next.exchange(waiting(List.of(), 1));
        assertThat(refused.answers()).containsExactly(Answer.FULL);
        assertThat(refused.recheck().remaining()).as("until it asks again").isLessThan(Duration.ofMillis(500));

        store.passes(300);

        assertThat(granted(next.exchange(waiting(List.of(), 1)))).hasSize(1);
    }

    @Test
    void whoCallsAWaiterThatDoesNotComeCallsTheNextOne() {
        List<Hold> held = take(session, 2);
        BackendSession dead = waiter(1);
        BackendSession unusedNext = waiter(1);
        dead.abort();
        ExchangeResult unused = session.exchange(request(List.of(held.get(0))));
        assertThat(store.hints).as("calls").hasSize(1);

        store.passes(300);

        await("the next one is called").until(() -> store.hints.size() == 2);
        assertThat(store.hints.get(1)).isNotEqualTo(store.hints.get(0));
    }

    @Test
    void aWaiterThatLeavesLeavesItsPlace() {
        List<Hold> held = take(session, 2);
        BackendSession gone = waiter(1);
        BackendSession next = waiter(1);
        BackendSession.Watch watch = gone.watch(() -> {});
        watch.close();

        ExchangeResult unused = session.exchange(request(List.of(held.get(0))));

        assertThat(granted(next.exchange(waiting(List.of(), 1)))).hasSize(1);
    }

    @Test
    void aClientThatAsksWhileNobodyOfItWaitsLeavesItsPlace() {
        List<Hold> held = take(session, 2);
        BackendSession gone = waiter(1);
        BackendSession next = waiter(1);
        assertThat(gone.exchange(request(List.of(), 1)).answers()).containsExactly(Answer.FULL);

        ExchangeResult unused = session.exchange(request(List.of(held.get(0))));

        assertThat(granted(next.exchange(waiting(List.of(), 1)))).hasSize(1);
    }

    @Test
    void aGroupThatDoesNotFitYetKeepsNothing() {
        List<Hold> held = take(session, 2);
        BackendSession group = waiter(2);
        BackendSession single = waiter(1);

        ExchangeResult unused = session.exchange(request(List.of(held.get(0))));

        assertThat(group.exchange(waiting(List.of(), 2)).answers()).containsExactly(Answer.FULL);
        assertThat(granted(single.exchange(waiting(List.of(), 1)))).hasSize(1);
    }

    @Test
    void aThousandThatWaitWriteNoMoreThanSixteen() {
        List<Hold> unused = take(session, 2);
        for (int i = 0; i < 16; i++) {
            BackendSession unusedWaiter = waiter(1);
        }
        store.requests.set(0);

        ExchangeResult last = client().open("jobs", new Silent()).exchange(waiting(List.of(), 1));

        assertThat(store.requests).as("requests of another one that waits").hasValue(1);
        assertThat(last.othersWaiting()).isTrue();
    }

    @Test
    void aClientThatHadItsTurnLeavesPlacesToThoseThatAreNotListed() {
        List<Hold> held = take(session, 2);
        for (int i = 0; i < 9; i++) {
            BackendSession unusedWaiter = waiter(1);
        }
        ExchangeResult unused = session.exchange(waiting(List.of(held.get(0)), 1));
        assertThat(store.text("jobs").lines().filter(line -> line.matches("(wait|call) .*")))
                .hasSize(9);

        BackendSession unusedWaiter = waiter(1);

        assertThat(store.text("jobs").lines().filter(line -> line.matches("(wait|call) .*")))
                .hasSize(10);
    }

    @Test
    void manyThatContendNeverHoldMoreThanTheLimit() throws Exception {
        int clients = 8;
        ExecutorService threads = Executors.newFixedThreadPool(clients);
        CyclicBarrier start = new CyclicBarrier(clients);
        AtomicInteger holders = new AtomicInteger();
        try {
            List<Callable<Integer>> work = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                BackendSession own = client().open("jobs", new Silent());
                work.add(() -> {
                    start.await();
                    int most = 0;
                    for (int round = 0; round < 200; round++) {
                        if (own.exchange(request(List.of(), 1)).answers().get(0) instanceof Answer.Granted granted) {
                            most = Math.max(most, holders.incrementAndGet());
                            holders.decrementAndGet();
                            assertThat(own.exchange(request(granted.holds())).lost())
                                    .isEmpty();
                        }
                    }
                    return most;
                });
            }
            for (Future<Integer> most : threads.invokeAll(work)) {
                assertThat(most.get()).isBetween(0, 2);
            }
        } finally {
            threads.shutdown();
        }
        assertThat(described().free()).isEqualTo(2);
    }

    @Test
    void whatIsDamagedIsRefusedByName() {
        store.put("jobs", "semaphore/2 3 4");

        assertThatThrownBy(() -> backend.admin().describe("jobs"))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("'jobs'");
    }

    @Test
    void whatTheDeadLeftOfADestroyedSemaphoreIsRemoved() {
        List<Hold> unused = take(session, 1);
        session.abort();
        assertThat(backend.admin().destroy("jobs")).isTrue();
        assertThat(backend.admin().retiredHolders("jobs")).isEqualTo(1);
        store.passes(LEASE_MILLIS + 1);

        assertThat(backend.admin().names()).isEmpty();

        await().until(store::isEmpty);
    }
}
