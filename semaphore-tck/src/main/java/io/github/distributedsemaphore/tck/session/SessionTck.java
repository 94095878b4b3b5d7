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
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
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
 * <p>A subclass supplies {@link #open}. A rule about leases or fencing is aborted, with the reason, if the backend declares none.
 */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
public abstract class SessionTck {
    private static final int LIMIT = 3;
    private static final int EPOCHS = 10;
    private static final Duration BUSY = Duration.ofMillis(1_500);

    private final String name = "session-" + UUID.randomUUID();
    private final List<Client> clients = new ArrayList<>();
    private Client client;
    private Client rival;
    private boolean startNext;

    /** For subclasses. */
    protected SessionTck() {}

    /**
     * Makes a client of the server, with connections of its own. The kit closes it.
     *
     * @param self what the client says of itself
     * @return the backend; all of them see the same semaphores
     */
    protected abstract SemaphoreBackend open(HolderInfo self);

    /** One client with one session, and what the session said of its own accord. */
    private static final class Client implements SessionListener {
        private final SemaphoreBackend backend;
        private final BackendSession session;
        private final List<Hold> lost = new CopyOnWriteArrayList<>();
        private final List<String> ended = new CopyOnWriteArrayList<>();
        private boolean aborted;

        Client(SemaphoreBackend backend, String name) {
            this.backend = backend;
            this.session = backend.open(name, this);
        }

        void abort() {
            aborted = true;
            session.abort();
        }

        void end() {
            if (!aborted) {
                session.close();
            }
        }

        @Override
        public void lost(Collection<Hold> holds, String reason) {
            lost.addAll(holds);
        }

        @Override
        public void ended(String reason) {
            ended.add(reason);
        }
    }

    @BeforeEach
    final void connect() {
        client = newClient();
        rival = newClient();
        client.backend.admin().create(name, LIMIT);
    }

    private Client newClient() {
        Client added = new Client(open(HolderInfo.ofThisProcess("session " + clients.size())), name);
        clients.add(added);
        return added;
    }

    @AfterEach
    final void disconnect() {
        boolean unused = Thread.interrupted();
        clients.forEach(Client::end);
        client.backend.admin().destroy(name);
        clients.forEach(each -> each.backend.close());
    }

    private Guarantees guarantees() {
        return client.backend.guarantees();
    }

    /** Asks by both ways in turn: the engine starts an exchange where it can, and else makes it. */
    private ExchangeResult exchange(Client by, ExchangeRequest request) {
        startNext = !startNext;
        CompletionStage<ExchangeResult> started = startNext ? by.session.start(request) : null;
        return started == null
                ? by.session.exchange(request)
                : started.toCompletableFuture()
                        .orTimeout(guarantees().callBound().toNanos(), TimeUnit.NANOSECONDS)
                        .join();
    }

    private static ExchangeRequest wanting(Integer... wants) {
        return new ExchangeRequest(List.of(), List.of(wants), EPOCHS, false);
    }

    private static ExchangeRequest returning(Hold... holds) {
        return new ExchangeRequest(List.of(holds), List.of(), EPOCHS, false);
    }

    private List<Answer> want(Client by, Integer... wants) {
        return exchange(by, wanting(wants)).answers();
    }

    private List<Hold> take(Client by, int permits) {
        return holds(want(by, permits).get(0));
    }

    private static List<Hold> holds(Answer answer) {
        assertThat(answer).isInstanceOf(Answer.Granted.class);
        return ((Answer.Granted) answer).holds();
    }

    private ExchangeResult giveBack(Client by, Hold... holds) {
        return exchange(by, returning(holds));
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

    private static void pause(Duration time) {
        try {
            TimeUnit.NANOSECONDS.sleep(time.toNanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean isRefused(Client by) {
        Answer answer = want(by, 1).get(0);
        if (answer instanceof Answer.Granted granted) {
            giveBack(by, granted.holds().toArray(Hold[]::new));
        }
        return answer.equals(Answer.FULL);
    }

    @Test
    @DisplayName("S.1 Wants are served in their order, each whole or not at all")
    void wantsAreServedInTheirOrder() {
        List<Answer> answers = want(client, 2, 2, 1);
        assertThat(answers.get(1)).isEqualTo(Answer.FULL);
        assertThat(Stream.of(answers.get(0), answers.get(2)).flatMap(answer -> holds(answer).stream()))
                .extracting(Hold::slot)
                .containsExactlyInAnyOrder(1, 2, 3);
        assertThat(want(rival, 1)).containsExactly(Answer.FULL);
    }

    @Test
    @DisplayName("S.2 A want that is refused takes nothing")
    void aRefusedWantTakesNothing() {
        take(client, 2);
        assertThat(want(rival, 2)).containsExactly(Answer.FULL);
        take(newClient(), 1);
    }

    @Test
    @DisplayName("S.3 A want beyond the limit, and any want without a semaphore, are refused for what they are")
    void impossibleWantsAreRefusedForWhatTheyAre() {
        List<Answer> answers = want(client, LIMIT + 1, 1);
        assertThat(answers.get(0)).isEqualTo(new Answer.ExceedsLimit(LIMIT));
        assertThat(holds(answers.get(1))).hasSize(1);
        Client lost = new Client(rival.backend, name + "-none");
        assertThat(want(lost, 1, LIMIT + 1)).containsExactly(Answer.MISSING, Answer.MISSING);
        lost.session.close();
    }

    @Test
    @DisplayName("S.4 A session is many holders: no slot that it has is granted to it again")
    void aSessionIsManyHolders() {
        List<Hold> all = new ArrayList<>();
        for (int i = 0; i < LIMIT; i++) {
            all.addAll(take(client, 1));
        }
        assertThat(all).extracting(Hold::slot).containsExactlyInAnyOrder(1, 2, 3);
        assertThat(want(client, 1)).containsExactly(Answer.FULL);
        assertThat(all).allMatch(hold -> client.session.check(hold) == HoldState.HELD);
    }

    @Test
    @DisplayName("S.5 What is given back is free for the wants of the same exchange, and is another hold then")
    void whatIsGivenBackIsFreeForTheSameExchange() {
        List<Hold> all = take(client, LIMIT);
        ExchangeResult result =
                exchange(client, new ExchangeRequest(all.subList(0, 2), List.of(1, 1, 1), EPOCHS, false));
        assertThat(result.lost()).isEmpty();
        assertThat(result.answers().get(2)).isEqualTo(Answer.FULL);
        List<Hold> anew = result.answers().stream()
                .limit(2)
                .flatMap(answer -> holds(answer).stream())
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
            Client holder = i % 3 == 0 ? rival : client;
            Hold hold = take(holder, 1).get(0);
            assertThat(hold.epoch()).isGreaterThan(last);
            assertThat(hold.lastEpoch() - hold.epoch()).isLessThan(EPOCHS);
            last = hold.lastEpoch();
            assertThat(giveBack(holder, hold).lost()).isEmpty();
        }
    }

    @Test
    @DisplayName("S.7 Giving back twice is reported, and leaves the next holder alone")
    void givingBackTwiceLeavesTheNextHolderAlone() {
        client.backend.admin().resize(name, 1);
        Hold first = take(client, 1).get(0);
        assertThat(giveBack(client, first).lost()).isEmpty();
        Hold second = take(rival, 1).get(0);

        assertThat(giveBack(client, first).lost()).containsExactly(first);
        assertThat(rival.session.check(second)).isEqualTo(HoldState.HELD);
        assertThat(want(newClient(), 1)).containsExactly(Answer.FULL);
    }

    @Test
    @DisplayName("S.8 An earlier hold of a slot is lost for the session that has the slot again")
    void anEarlierHoldIsNotThePresentOne() {
        client.backend.admin().resize(name, 1);
        Hold first = take(client, 1).get(0);
        giveBack(client, first);
        Hold second = take(client, 1).get(0);

        assertThat(client.session.check(first)).isEqualTo(HoldState.LOST);
        Renewal renewal = client.session.renew(List.of(first, second));
        assertThat(renewal.lost()).containsExactly(first);
        assertThat(giveBack(client, first).lost()).containsExactly(first);
        assertThat(client.session.check(second)).isEqualTo(HoldState.HELD);
        assertThat(want(rival, 1)).containsExactly(Answer.FULL);
    }

    @Test
    @DisplayName("S.9 A hold whose slot was removed is retired, stays held, and can be given back")
    void aRemovedSlotIsRetired() {
        List<Hold> all = take(client, LIMIT);
        client.backend.admin().resize(name, 1);
        List<Hold> beyond = all.stream().filter(hold -> hold.slot() > 1).toList();
        assertThat(beyond).hasSize(2).allMatch(hold -> client.session.check(hold) == HoldState.RETIRED);
        Renewal renewal = client.session.renew(all);
        assertThat(renewal.lost()).isEmpty();
        assertThat(renewal.retired()).containsExactlyInAnyOrderElementsOf(beyond);

        client.backend.admin().destroy(name);
        assertThat(all).allMatch(hold -> client.session.check(hold) == HoldState.RETIRED);
        assertThat(giveBack(client, all.toArray(Hold[]::new)).lost()).isEmpty();
        assertThat(want(client, 1)).containsExactly(Answer.MISSING);
    }

    @Test
    @DisplayName("S.10 A hold that is renewed in time is held, and sure in between")
    void aRenewedHoldIsHeld() {
        assumeTrue(guarantees().has(Capability.LEASE), "the backend has no leases");
        List<Hold> all = take(client, LIMIT);
        Duration most = guarantees().detectionMax();
        long end = System.nanoTime() + longerThan(most).toNanos();
        while (System.nanoTime() - end < 0) {
            Renewal renewal = client.session.renew(all);
            assertThat(renewal.lost()).isEmpty();
            assertThat(renewal.validUntil().remaining()).isPositive().isLessThanOrEqualTo(most);
            assertThat(want(rival, 1)).containsExactly(Answer.FULL);
            pause(client.session.renewEvery());
        }
        assertThat(client.lost).isEmpty();
    }

    @Test
    @DisplayName("S.11 A hold that nobody renews is held by one session at most, and its session knows which")
    void aHoldThatNobodyRenewsHasOneHolder() {
        client.backend.admin().resize(name, 1);
        Hold old = take(client, 1).get(0);
        pause(longerThan(guarantees().detectionMax()));
        Answer taken = want(rival, 1).get(0);
        if (taken.equals(Answer.FULL)) {
            assertThat(client.session.renew(List.of(old)).lost()).isEmpty();
            assertThat(client.session.check(old)).isEqualTo(HoldState.HELD);
            return;
        }
        Hold next = holds(taken).get(0);
        assertThat(client.session.renew(List.of(old)).lost()).containsExactly(old);
        assertThat(client.session.check(old)).isEqualTo(HoldState.LOST);
        assertThat(giveBack(client, old).lost()).containsExactly(old);
        assertThat(rival.session.check(next)).isEqualTo(HoldState.HELD);
        assertThat(want(client, 1)).as("the session starts afresh").containsExactly(Answer.FULL);
        if (guarantees().has(Capability.FENCING)) {
            assertThat(next.epoch()).isGreaterThan(old.lastEpoch());
        }
        giveBack(rival, next);
        within(guarantees().callBound(), "the next grant", () -> want(client, 1).get(0) instanceof Answer.Granted);
    }

    @Test
    @DisplayName(
            "S.12 What a session leaves is free: at once when it is closed, within the detection time when it is dropped")
    void whatASessionLeavesIsFree() {
        take(client, LIMIT);
        client.session.close();
        within(guarantees().callBound(), "the slots of a closed session are free", () -> !isRefused(rival));
        Client dropped = newClient();
        take(dropped, LIMIT);
        dropped.abort();
        within(
                guarantees().detectionMax().plus(guarantees().callBound()),
                "the slots of a dropped session are free",
                () -> !isRefused(rival));
        assertThatCode(client.session::close).as("closing twice").doesNotThrowAnyException();
    }

    @Test
    @DisplayName("S.13 A session that waits gets a slot in time, also after one that waited before it and was closed")
    void aSessionThatWaitsGetsASlotInTime() {
        List<Hold> all = take(rival, LIMIT);
        Client gone = newClient();
        startToWait(gone);
        BackendSession.Watch watch = startToWait(client);
        gone.session.close();

        giveBack(rival, all.get(0));
        within(
                guarantees().wakeUpBound().plus(guarantees().callBound()),
                "the waiting session has the slot",
                () -> ask(client) instanceof Answer.Granted);
        watch.close();
    }

    private BackendSession.Watch startToWait(Client by) {
        BackendSession.Watch watch = by.session.watch(() -> {});
        assertThat(ask(by)).isEqualTo(Answer.FULL);
        return watch;
    }

    /** For a caller that goes on waiting. */
    private Answer ask(Client by) {
        return exchange(by, new ExchangeRequest(List.of(), List.of(1), EPOCHS, true))
                .answers()
                .get(0);
    }

    @Test
    @DisplayName("S.14 An interrupt neither ends a call nor is lost in it")
    void anInterruptNeitherEndsACallNorIsLost() {
        Thread.currentThread().interrupt();
        Hold hold = holds(client.session.exchange(wanting(1)).answers().get(0)).get(0);
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        assertThat(client.session.check(hold)).isEqualTo(HoldState.HELD);
        assertThat(client.session.renew(List.of(hold)).lost()).isEmpty();
        assertThat(client.session.exchange(returning(hold)).lost()).isEmpty();
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    @DisplayName("S.15 Under exchanges, renewals and checks at once no slot has two holders and none is lost")
    void noSlotHasTwoHolders() throws Exception {
        List<Client> all = List.of(client, rival, newClient(), newClient());
        client.backend.admin().resize(name, 2 + all.size());
        Occupants occupants = new Occupants(2 + all.size());
        ExecutorService threads = Executors.newFixedThreadPool(2 * all.size());
        List<Hold> kept = all.stream().flatMap(each -> take(each, 1).stream()).toList();
        occupants.enter(kept);
        try {
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < all.size(); i++) {
                Client each = all.get(i);
                Hold own = kept.get(i);
                running.add(threads.submit(() -> exchangeAtRandom(each, occupants)));
                running.add(threads.submit(() -> keep(each, own)));
            }
            for (Future<?> one : running) {
                one.get();
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(occupants.grants()).isGreaterThan(all.size());
        assertThat(all).allSatisfy(each -> {
            assertThat(each.lost).isEmpty();
            assertThat(each.ended).isEmpty();
        });
        assertThat(take(client, 2)).hasSize(2);
        assertThat(want(rival, 1)).containsExactly(Answer.FULL);
    }

    /** Renewals and checks may come while an exchange is under way. */
    private static void keep(Client by, Hold hold) {
        long end = System.nanoTime() + BUSY.toNanos();
        while (System.nanoTime() - end < 0) {
            assertThat(by.session.renew(List.of(hold)).lost()).isEmpty();
            assertThat(by.session.check(hold)).isEqualTo(HoldState.HELD);
        }
    }

    private void exchangeAtRandom(Client by, Occupants occupants) {
        Random random = new Random();
        List<Hold> held = new ArrayList<>();
        long end = System.nanoTime() + BUSY.toNanos();
        while (System.nanoTime() - end < 0 || !held.isEmpty()) {
            boolean over = System.nanoTime() - end >= 0;
            List<Hold> back =
                    held.stream().filter(hold -> over || random.nextBoolean()).toList();
            List<Integer> wants = over ? List.of() : List.of(1 + random.nextInt(2), 1);
            occupants.leave(back);
            ExchangeResult result = by.session.exchange(new ExchangeRequest(back, wants, EPOCHS, false));
            assertThat(result.lost()).isEmpty();
            held.removeAll(back);
            for (Answer answer : result.answers()) {
                if (answer instanceof Answer.Granted granted) {
                    occupants.enter(granted.holds());
                    held.addAll(granted.holds());
                }
            }
        }
    }

    /** The slots that are held. A hold counts from its grant's answer to the moment before it is given back. */
    private static final class Occupants {
        private final boolean[] taken;
        private int grants;

        Occupants(int limit) {
            this.taken = new boolean[limit + 1];
        }

        synchronized void enter(List<Hold> holds) {
            for (Hold hold : holds) {
                assertThat(taken[hold.slot()])
                        .as("slot %s has a holder", hold.slot())
                        .isFalse();
                taken[hold.slot()] = true;
                grants++;
            }
        }

        synchronized void leave(List<Hold> holds) {
            holds.forEach(hold -> taken[hold.slot()] = false);
        }

        synchronized int grants() {
            return grants;
        }
    }
}
