package io.github.distributedsemaphore.tck.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.run.Failures;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The contract of {@link BackendSession}, asked of an adapter without the engine. The rules of {@link
 * io.github.distributedsemaphore.tck.SemaphoreTck} see an adapter through the engine, which mends some of what an adapter does
 * wrong and hides where it went wrong. These name the call. They take less than a minute with a detection time of two seconds, and
 * an author of an adapter runs them first.
 *
 * <p>A subclass supplies {@link #open}. A rule about leases, fencing or dropped sessions is aborted, with the reason, if the backend
 * declares none, or a detection time that no test can wait for.
 */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
public abstract class SessionTck {
    private static final int LIMIT = 3;

    /** Less than the time-out of a test, which has more to do than to wait. */
    private static final Duration LONGEST = Duration.ofSeconds(100);

    private final String name = "session-" + UUID.randomUUID();
    private final List<SessionClient> clients = new ArrayList<>();
    private SessionClient client;
    private SessionClient rival;
    /** For subclasses. */
    protected SessionTck() {}

    /**
     * Makes a client of the server, with connections of its own. The kit closes it.
     *
     * @param self what the client says of itself
     * @return the backend; all of them see the same semaphores
     */
    protected abstract SemaphoreBackend open(HolderInfo self);

    @BeforeEach
    final void connect() {
        client = newClient();
        rival = newClient();
        client.backend.admin().create(name, LIMIT);
    }

    private SessionClient newClient() {
        SessionClient added = new SessionClient(open(HolderInfo.ofThisProcess("session " + clients.size())), name);
        clients.add(added);
        return added;
    }

    @AfterEach
    final void disconnect() {
        boolean unused = Thread.interrupted();
        Failures failures = new Failures();
        clients.forEach(each -> failures.collect(each::end));
        failures.collect(() -> client.backend.admin().destroy(name));
        clients.forEach(each -> failures.collect(each.backend::close));
        failures.rethrow();
    }

    private Guarantees guarantees() {
        return client.backend.guarantees();
    }

    private static void within(Duration bound, String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(Duration.ofNanos(System.nanoTime() - start))
                    .as(what + " within " + bound)
                    .isLessThan(bound);
            pause(Duration.ofMillis(5));
        }
    }

    private static Duration longerThan(Duration time) {
        return time.plus(time.dividedBy(4)).plusMillis(200);
    }

    /** What takes longer would be a time-out, and no finding. */
    private static void assumeTimeFor(Duration time) {
        assumeTrue(
                time.compareTo(LONGEST) <= 0,
                () -> "takes " + time + ", for which a test has no time: ask it with a shorter detection time");
    }

    private static void pause(Duration time) {
        try {
            TimeUnit.NANOSECONDS.sleep(time.toNanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    @DisplayName("S.1 Wants are served in their order, each whole or not at all")
    void wantsAreServedInTheirOrder() {
        List<Answer> answers = client.want(2, 2, 1);
        assertThat(answers.get(1)).isEqualTo(Answer.FULL);
        assertThat(Stream.of(answers.get(0), answers.get(2)).flatMap(answer -> SessionClient.holds(answer).stream()))
                .extracting(Hold::slot)
                .containsExactlyInAnyOrder(1, 2, 3);
        assertThat(rival.want(1)).containsExactly(Answer.FULL);
    }

    @Test
    @DisplayName("S.2 A want that is refused takes nothing")
    void aRefusedWantTakesNothing() {
        client.take(2);
        assertThat(rival.want(2)).containsExactly(Answer.FULL);
        newClient().take(1);
    }

    @Test
    @DisplayName("S.3 A want beyond the limit, and any want without a semaphore, are refused for what they are")
    void impossibleWantsAreRefusedForWhatTheyAre() {
        List<Answer> answers = client.want(LIMIT + 1, 1);
        assertThat(answers.get(0)).isEqualTo(new Answer.ExceedsLimit(LIMIT));
        assertThat(SessionClient.holds(answers.get(1))).hasSize(1);
        SessionClient lost = new SessionClient(rival.backend, name + "-none");
        assertThat(lost.want(1, LIMIT + 1)).containsExactly(Answer.MISSING, Answer.MISSING);
        lost.session.close();
    }

    @Test
    @DisplayName("S.3 A want is compared with the limit of now, not with what the session remembers")
    void aWantIsComparedWithTheLimitOfNow() {
        List<Hold> held = client.take(1);
        rival.backend.admin().resize(name, LIMIT + 3);
        List<Answer> answers = client.exchange(
                        new ExchangeRequest(held, List.of(1, LIMIT + 2), SessionClient.EPOCHS, false))
                .answers();
        assertThat(answers).allMatch(answer -> answer instanceof Answer.Granted);
    }

    @Test
    @DisplayName("S.4 A session is many holders: no slot that it has is granted to it again")
    void aSessionIsManyHolders() {
        List<Hold> all = new ArrayList<>();
        for (int i = 0; i < LIMIT; i++) {
            all.addAll(client.take(1));
        }
        assertThat(all).extracting(Hold::slot).containsExactlyInAnyOrder(1, 2, 3);
        assertThat(client.want(1)).containsExactly(Answer.FULL);
        assertThat(all).allMatch(hold -> client.session.check(hold) == HoldState.HELD);
    }

    @Test
    @DisplayName("S.5 What is given back is free for the wants of the same exchange, and is another hold then")
    void whatIsGivenBackIsFreeForTheSameExchange() {
        List<Hold> all = client.take(LIMIT);
        ExchangeResult result =
                client.exchange(new ExchangeRequest(all.subList(0, 2), List.of(1, 1, 1), SessionClient.EPOCHS, false));
        assertThat(result.lost()).isEmpty();
        assertThat(result.answers().get(2)).isEqualTo(Answer.FULL);
        List<Hold> anew = result.answers().stream()
                .limit(2)
                .flatMap(answer -> SessionClient.holds(answer).stream())
                .toList();
        assertThat(anew)
                .extracting(Hold::slot)
                .doesNotContain(all.get(2).slot())
                .doesNotHaveDuplicates();
        assertThat(anew).doesNotContainAnyElementsOf(all);
        assertThat(anew).allMatch(hold -> client.session.check(hold) == HoldState.HELD);
        assertThat(all.subList(0, 2)).allMatch(hold -> client.session.check(hold) == HoldState.LOST);
    }

    @Test
    @DisplayName("S.6 The epochs of a slot rise, whoever takes it, and no run is longer than was asked for")
    void epochsRise() {
        assumeTrue(guarantees().has(Capability.FENCING), "the backend has no fencing");
        client.backend.admin().resize(name, 1);
        long last = -1;
        for (int i = 0; i < 12; i++) {
            SessionClient holder = i % 3 == 0 ? rival : client;
            Hold hold = holder.take(1).get(0);
            assertThat(hold.epoch()).isGreaterThan(last);
            assertThat(hold.lastEpoch() - hold.epoch()).isLessThan(SessionClient.EPOCHS);
            last = hold.lastEpoch();
            assertThat(holder.giveBack(hold).lost()).isEmpty();
        }
    }

    @Test
    @DisplayName("S.7 Giving back twice is reported, and leaves the next holder alone")
    void givingBackTwiceLeavesTheNextHolderAlone() {
        client.backend.admin().resize(name, 1);
        Hold first = client.take(1).get(0);
        assertThat(client.giveBack(first).lost()).isEmpty();
        Hold second = rival.take(1).get(0);

        assertThat(client.giveBack(first).lost()).containsExactly(first);
        assertThat(rival.session.check(second)).isEqualTo(HoldState.HELD);
        assertThat(newClient().want(1)).containsExactly(Answer.FULL);
    }

    @Test
    @DisplayName("S.8 An earlier hold of a slot is lost for the session that has the slot again")
    void anEarlierHoldIsNotThePresentOne() {
        client.backend.admin().resize(name, 1);
        Hold first = client.take(1).get(0);
        client.giveBack(first);
        Hold second = client.take(1).get(0);

        assertThat(client.session.check(first)).isEqualTo(HoldState.LOST);
        Renewal renewal = client.session.renew(List.of(first, second));
        assertThat(renewal.lost()).containsExactly(first);
        assertThat(client.giveBack(first).lost()).containsExactly(first);
        assertThat(client.session.check(second)).isEqualTo(HoldState.HELD);
        assertThat(rival.want(1)).containsExactly(Answer.FULL);
    }

    @Test
    @DisplayName("S.9 A hold whose slot was removed is retired, stays held, and can be given back")
    void aRemovedSlotIsRetired() {
        List<Hold> all = client.take(LIMIT);
        client.backend.admin().resize(name, 1);
        List<Hold> beyond = all.stream().filter(hold -> hold.slot() > 1).toList();
        assertThat(beyond).hasSize(2).allMatch(hold -> client.session.check(hold) == HoldState.RETIRED);
        Renewal renewal = client.session.renew(all);
        assertThat(renewal.lost()).isEmpty();
        assertThat(renewal.retired()).containsExactlyInAnyOrderElementsOf(beyond);

        client.backend.admin().destroy(name);
        assertThat(all).allMatch(hold -> client.session.check(hold) == HoldState.RETIRED);
        assertThat(client.giveBack(all.toArray(Hold[]::new)).lost()).isEmpty();
        assertThat(client.want(1)).containsExactly(Answer.MISSING);
    }

    @Test
    @DisplayName("S.10 A hold that is renewed in time is held, and sure in between")
    void aRenewedHoldIsHeld() {
        assumeTrue(guarantees().has(Capability.LEASE), "the backend has no leases");
        assumeTimeFor(longerThan(guarantees().detectionMax()));
        List<Hold> all = client.take(LIMIT);
        Duration most = guarantees().detectionMax();
        long end = System.nanoTime() + longerThan(most).toNanos();
        while (System.nanoTime() - end < 0) {
            Renewal renewal = client.session.renew(all);
            assertThat(renewal.lost()).isEmpty();
            assertThat(renewal.validUntil().remaining()).isPositive().isLessThanOrEqualTo(most);
            assertThat(rival.want(1)).containsExactly(Answer.FULL);
            pause(client.session.renewEvery());
        }
        assertThat(client.lost).isEmpty();
    }

    @Test
    @DisplayName("S.11 A hold that nobody renews is held by one session at most, and its session knows which")
    void aHoldThatNobodyRenewsHasOneHolder() {
        assumeTimeFor(longerThan(guarantees().detectionMax()));
        client.backend.admin().resize(name, 1);
        Hold old = client.take(1).get(0);
        pause(longerThan(guarantees().detectionMax()));
        Answer taken = rival.want(1).get(0);
        if (taken.equals(Answer.FULL)) {
            assertThat(client.session.renew(List.of(old)).lost()).isEmpty();
            assertThat(client.session.check(old)).isEqualTo(HoldState.HELD);
            return;
        }
        Hold next = SessionClient.holds(taken).get(0);
        assertThat(client.session.renew(List.of(old)).lost()).containsExactly(old);
        assertThat(client.session.check(old)).isEqualTo(HoldState.LOST);
        assertThat(client.giveBack(old).lost()).containsExactly(old);
        assertThat(rival.session.check(next)).isEqualTo(HoldState.HELD);
        assertThat(client.want(1)).as("the session starts afresh").containsExactly(Answer.FULL);
        if (guarantees().has(Capability.FENCING)) {
            assertThat(next.epoch()).isGreaterThan(old.lastEpoch());
        }
        rival.giveBack(next);
        within(guarantees().callBound(), "the next grant", () -> client.want(1).get(0) instanceof Answer.Granted);
    }

    @Test
    @DisplayName("S.12 What a session leaves is free: at once when it is closed, within the detection time when it is"
            + " dropped")
    void whatASessionLeavesIsFree() {
        client.take(LIMIT);
        client.session.close();
        within(guarantees().callBound(), "the slots of a closed session are free", () -> !rival.isRefused());
        assertThatCode(client.session::close).as("closing twice").doesNotThrowAnyException();
        assumeTrue(
                guarantees().has(Capability.CRASH_RELEASE),
                "the backend leaves what a dropped session held to an administrator");
        assumeTimeFor(guarantees().detectionMax());
        SessionClient dropped = newClient();
        dropped.take(LIMIT);
        dropped.abort();
        within(
                guarantees().detectionMax().plus(guarantees().callBound()),
                "all slots of a dropped session are free",
                () -> rival.want(LIMIT).get(0) instanceof Answer.Granted);
    }

    @Test
    @DisplayName(
            "S.13 A session that waits is told of a slot and gets it in time, also after one that waited before it and was closed")
    void aSessionThatWaitsGetsASlotInTime() {
        SessionClient gone = newClient();
        List<Hold> all = rival.take(LIMIT);
        gone.startToWait();
        // Nobody else renews them, and a busy machine may need half a lease until here.
        rival.session.renew(all);
        BackendSession.Watch watch = client.startToWait();
        gone.session.close();

        rival.giveBack(all.get(0));
        Duration bound = guarantees().wakeUpBound().plus(guarantees().callBound());
        within(bound, "a hint, or the time that the last answer named, comes", client::isToAskAgain);
        within(bound, "the waiting session has the slot", () -> client.ask() instanceof Answer.Granted);
        watch.close();
    }

    @Test
    @DisplayName("S.14 An interrupt neither ends a call nor is lost in it")
    void anInterruptNeitherEndsACallNorIsLost() {
        Thread.currentThread().interrupt();
        Hold hold = SessionClient.holds(client.session
                        .exchange(SessionClient.wanting(1))
                        .answers()
                        .get(0))
                .get(0);
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        assertThat(client.session.check(hold)).isEqualTo(HoldState.HELD);
        assertThat(client.session.renew(List.of(hold)).lost()).isEmpty();
        assertThat(client.session.exchange(SessionClient.returning(hold)).lost())
                .isEmpty();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    @DisplayName("S.15 Under exchanges, renewals and checks at once no slot has two holders and none is lost")
    void noSlotHasTwoHolders() throws Exception {
        List<SessionClient> all = List.of(client, rival, newClient(), newClient());
        client.backend.admin().resize(name, 2 + all.size());
        SessionCrowd crowd = new SessionCrowd(2 + all.size());
        crowd.run(all);
        assertThat(crowd.grants()).isGreaterThan(all.size());
        assertThat(all).allSatisfy(each -> {
            assertThat(each.lost).isEmpty();
            assertThat(each.ended).isEmpty();
        });
        assertThat(client.take(2)).hasSize(2);
        assertThat(rival.want(1)).containsExactly(Answer.FULL);
    }
}
