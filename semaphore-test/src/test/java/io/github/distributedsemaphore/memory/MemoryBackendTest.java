package io.github.distributedsemaphore.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class MemoryBackendTest {
    private static final String NAME = "exports";
    private static final Duration LEASE = Duration.ofSeconds(9);

    private final AtomicLong clock = new AtomicLong(Long.MAX_VALUE - 5); // a clock may run over
    private final MemoryServer server = new MemoryServer(clock::get, LEASE, MemoryServer.ALL, Runnable::run);
    private final List<String> told = new ArrayList<>();
    private final AtomicReference<String> lostAnswer = new AtomicReference<>("");
    private final MemoryBackend backend = client("a");
    private final BackendSession session = open(backend);
    private final BackendSession other = open(client("b"));

    @BeforeEach
    void create() {
        backend.admin().create(NAME, 3);
    }

    @Test
    void servesEachWantWholeOrNotAtAll() {
        ExchangeResult result = session.exchange(request(List.of(), 2, 2, 1, 4));
        assertThat(result.answers().get(0)).isInstanceOf(Answer.Granted.class);
        assertThat(result.answers().get(1)).isEqualTo(Answer.FULL);
        assertThat(result.answers().get(2)).isInstanceOf(Answer.Granted.class);
        assertThat(result.answers().get(3)).isEqualTo(new Answer.ExceedsLimit(3));
        assertThat(backend.admin().describe(NAME).orElseThrow().free()).isZero();
    }

    @Test
    void grantsASlotThatIsGivenBackUnderAHigherEpochThanAnyOfItsRun() {
        Hold first = take(session);
        assertThat(first.lastEpoch()).isEqualTo(first.epoch() + 4);
        Hold second = granted(session.exchange(request(List.of(first), 1)));
        assertThat(second.slot()).isEqualTo(first.slot());
        assertThat(second.epoch()).isGreaterThan(first.lastEpoch());
        assertThat(session.check(first)).isEqualTo(HoldState.LOST);
        assertThat(session.exchange(request(List.of(first))).lost()).containsExactly(first);
        assertThat(session.check(second)).isEqualTo(HoldState.HELD);
        assertThat(other.check(second)).isEqualTo(HoldState.LOST);
    }

    @Test
    void refusesAMissingNameAndAnotherLimit() {
        backend.admin().destroy(NAME);
        assertThat(session.exchange(request(List.of(), 1)).answers()).containsExactly(Answer.MISSING);
        backend.admin().create(NAME, 2);
        assertThatThrownBy(() -> backend.admin().create(NAME, 3)).isInstanceOf(LimitConflictException.class);
        assertThat(backend.admin().create(NAME, 2)).isFalse();
        assertThat(backend.admin().names()).containsExactly(NAME);
    }

    @Test
    void epochsRiseOverADestructionAndHeldSlotsAreNotGrantedAfterIt() {
        Hold held = take(session);
        Hold gone = take(session);
        session.exchange(request(List.of(gone)));
        backend.admin().destroy(NAME);
        assertThat(session.check(held)).isEqualTo(HoldState.RETIRED);
        assertThat(backend.admin().retiredHolders(NAME)).isEqualTo(1);
        backend.admin().create(NAME, 2);
        Hold next = take(other);
        assertThat(next.slot()).isEqualTo(2);
        assertThat(next.epoch()).isGreaterThan(gone.lastEpoch());
        assertThat(other.exchange(request(List.of(), 1)).answers()).containsExactly(Answer.FULL);
    }

    @Test
    void aLeaseThatIsNotRenewedEndsAtItsInstant() {
        Hold held = take(session);
        assertThat(take(other).slot()).isEqualTo(2);
        assertThat(session.exchange(request(List.of(), 2)).recheck()).isEqualTo(Deadline.after(clock.get(), LEASE));
        clock.addAndGet(LEASE.toNanos() - 1);
        Renewal renewal = session.renew(List.of(held));
        assertThat(renewal.lost()).isEmpty();
        assertThat(renewal.validUntil()).isEqualTo(Deadline.after(clock.get(), LEASE));
        clock.addAndGet(LEASE.toNanos());
        assertThat(session.renew(List.of(held)).lost()).containsExactly(held);
        assertThat(backend.admin().describe(NAME).orElseThrow().free()).isEqualTo(3);
    }

    @Test
    void aCrashedClientReachesTheServerNoMore() {
        take(session);
        server.crash(backend);
        assertThatThrownBy(() -> take(session)).isInstanceOf(BackendUnavailableException.class);
        assertThat(server.openSessions()).isEqualTo(2);
        clock.addAndGet(LEASE.toNanos());
        assertThat(server.openSessions()).isEqualTo(1);
    }

    @Test
    void withoutLeasesAHoldEndsWithItsClient() {
        MemoryServer plain = new MemoryServer(clock::get, LEASE, Set.of(Capability.CRASH_RELEASE), Runnable::run);
        MemoryBackend client = new MemoryBackend(plain, new HolderInfo("host", 1, "c"));
        client.admin().create(NAME, 1);
        BackendSession leaving = open(client);
        Hold held = take(leaving);
        clock.addAndGet(LEASE.toNanos() * 2);
        assertThat(leaving.check(held)).isEqualTo(HoldState.HELD);
        leaving.abort();
        assertThat(client.admin().describe(NAME).orElseThrow().free()).isEqualTo(1);
    }

    @Test
    void hintsThoseWhoWatchAndTellsWhoWaits() {
        AtomicInteger hints = new AtomicInteger();
        Hold held = take(session);
        BackendSession.Watch watch = other.watch(hints::incrementAndGet);
        other.exchange(new ExchangeRequest(List.of(), List.of(3), 1, true));
        assertThat(session.exchange(request(List.of(held))).othersWaiting()).isTrue();
        assertThat(hints).hasValue(1);
        backend.admin().resize(NAME, 4);
        assertThat(hints).hasValue(2);
        watch.close();
        backend.admin().resize(NAME, 3);
        assertThat(hints).hasValue(2);
        assertThat(session.exchange(request(List.of(), 1)).othersWaiting()).isFalse();
    }

    @Test
    void findsOutWhatAnExchangeDidWhoseAnswerWasLost() {
        ExchangeRequest request = request(List.of(), 1, 3);
        lostAnswer.set("exchange");
        assertThatThrownBy(() -> session.exchange(request)).isInstanceOf(OutcomeUnknownException.class);
        ExchangeResult result = session.resolve(request);
        Hold held = ((Answer.Granted) result.answers().get(0)).holds().get(0);
        assertThat(result.answers().get(1)).isEqualTo(Answer.FULL);
        assertThat(session.check(held)).isEqualTo(HoldState.HELD);
        assertThat(session.resolve(request).answers()).isEqualTo(result.answers());
        clock.addAndGet(LEASE.toNanos());
        assertThat(session.resolve(request).answers()).containsExactly(Answer.FULL, Answer.FULL);
    }

    @Test
    void tellsOfRevokedHoldsAndEndedSessions() {
        Hold held = take(session);
        take(session);
        server.revoke(NAME, held.slot(), "because");
        server.endSessions(backend, "over");
        assertThat(told).containsExactly("lost 1 because", "ended over");
        assertThat(take(other).slot()).isEqualTo(1);
        session.close();
        assertThat(server.removeHolder(NAME, 1)).isTrue();
        assertThat(server.removeHolder(NAME, 1)).isFalse();
    }

    private MemoryBackend client(String label) {
        return new MemoryBackend(server, new HolderInfo("host", 1, label), Link.with(what -> {}, what -> {
            if (lostAnswer.compareAndSet(what, "")) {
                throw new OutcomeUnknownException("the answer was lost", null);
            }
        }));
    }

    private BackendSession open(MemoryBackend client) {
        return client.open(NAME, new SessionListener() {
            @Override
            public void lost(Collection<Hold> holds, String reason) {
                told.add("lost " + holds.size() + " " + reason);
            }

            @Override
            public void ended(String reason) {
                told.add("ended " + reason);
            }
        });
    }

    private static Hold take(BackendSession session) {
        return granted(session.exchange(request(List.of(), 1)));
    }

    private static Hold granted(ExchangeResult result) {
        return ((Answer.Granted) result.answers().get(0)).holds().get(0);
    }

    private static ExchangeRequest request(List<Hold> giveBack, Integer... wants) {
        return new ExchangeRequest(giveBack, List.of(wants), 5, false);
    }
}
