package io.github.distributedsemaphore.rabbitmq;

import static io.github.distributedsemaphore.rabbitmq.Rabbit.giveBack;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.granted;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.take;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection.ProbeFailedException;
import io.github.distributedsemaphore.rabbitmq.net.QueueSight;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.rabbitmq.net.RabbitSettings;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Epochs from a stream. */
class FenceTest {
    private final String name = Rabbit.name();
    private final QueueNames names = new QueueNames(name);
    private final SemaphoreBackend backend = Rabbit.backend("");
    private final SemaphoreBackend other = Rabbit.backend("");
    private final BackendSession session = backend.open(name, new Rabbit.News());
    private final BackendSession otherSession = other.open(name, new Rabbit.News());

    @AfterEach
    void cleanUp() {
        session.close();
        otherSession.close();
        backend.admin().destroy(name);
        backend.close();
        other.close();
    }

    @Test
    void epochsRiseOverHoldersOfDifferentClientsAlsoAfterAnOperatorTookTheSlotFromOne() {
        backend.admin().create(name, 1);
        long last = 0;
        for (int round = 0; round < 20; round++) {
            BackendSession one = round % 2 == 0 ? session : otherSession;
            Hold hold = takeOne(one);
            assertThat(hold.epoch()).isGreaterThan(last);
            last = hold.lastEpoch();
            if (round % 5 == 4) {
                RabbitServer.delete(names.hold(1));
            }
            giveBack(one, hold);
        }
    }

    @Test
    void aClientThatDrawsNoneStopsToReadThoseOfOthersAndDrawsAHigherOneLaterOnTheSameChannel() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        backend.admin().create(name, 1);
        giveBack(session, takeOne(session));
        giveBack(otherSession, takeOne(otherSession));
        int both = consumers();
        int channels = channels();
        long last = 0;
        for (int round = 0; round < FenceChannel.MOST_OF_OTHERS; round++) {
            Hold hold = takeOne(session);
            last = hold.lastEpoch();
            giveBack(session, hold);
        }
        await("only the one that draws reads").until(() -> consumers() == both - 1);
        // Or the broker closes the channel with an error some time later.
        await("what it has read is acknowledged").until(() -> unacknowledgedOfThoseThatRest() == 0);
        assertThat(channels()).isEqualTo(channels);
        Hold hold = takeOne(otherSession);
        assertThat(hold.epoch()).isGreaterThan(last);
        giveBack(otherSession, hold);
        await("both read").until(() -> consumers() == both);
        assertThat(channels()).isEqualTo(channels);
    }

    /** Of all channels: a passive declaration tells none of a stream. */
    private static int consumers() {
        return Integer.parseInt(RabbitServer.eval("lists:sum([Count || Channel <- rabbit_channel:list(),"
                        + " {consumer_count, Count} <- rabbit_channel:info(Channel, [consumer_count])]).")
                .strip());
    }

    private static int unacknowledgedOfThoseThatRest() {
        return Integer.parseInt(RabbitServer.eval("lists:sum([Count || Channel <- rabbit_channel:list(),"
                        + " [{consumer_count, 0}, {messages_unacknowledged, Count}]"
                        + " <- [rabbit_channel:info(Channel, [consumer_count, messages_unacknowledged])]]).")
                .strip());
    }

    static int channels() {
        return Integer.parseInt(
                RabbitServer.eval("length(rabbit_channel:list()).").strip());
    }

    @Test
    void aRunOfEpochsIsReservedForHandOff() {
        backend.admin().create(name, 2);
        List<Hold> holds = granted(session.exchange(new ExchangeRequest(List.of(), List.of(2), 64, false))
                .answers()
                .get(0));
        assertThat(holds).allMatch(hold -> hold.lastEpoch() - hold.epoch() == 63);
        giveBack(session, holds.toArray(Hold[]::new));
        assertThat(takeOne(session).epoch()).isGreaterThan(holds.get(0).lastEpoch());
    }

    @Test
    void withoutTheStreamNothingIsGrantedUntilCreateHasMadeItAgain() throws Exception {
        backend.admin().create(name, 1);
        giveBack(session, takeOne(session));
        RabbitServer.delete(names.fences());
        await().untilAsserted(() -> assertThatThrownBy(() -> take(session, 1))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining(name));
        try (Connection connection = Rabbit.connection()) {
            assertThat(Rabbit.exists(connection, names.hold(1))).isFalse();
        }
        assertThat(backend.admin().create(name, 1)).isFalse();
        assertThat(takeOne(session).slot()).isEqualTo(1);
    }

    @Test
    void whatIsGivenBackWhileNothingCanBeTakenIsNoLoss() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        backend.admin().create(name, 2);
        Hold hold = takeOne(session);
        RabbitServer.eval("rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).");
        try {
            ExchangeRequest swap = new ExchangeRequest(List.of(hold), List.of(1), 1, false);
            assertThatThrownBy(() -> session.exchange(swap)).isInstanceOf(BackendUnavailableException.class);
            assertThat(giveBack(session, hold).lost()).isEmpty();
            assertThat(giveBack(session, hold).lost()).containsExactly(hold);
            assertThat(Rabbit.freeUnderAlarm(name)).isEqualTo(2);
        } finally {
            RabbitServer.eval("rabbit_alarm:clear_alarm({resource_limit, memory, node()}).");
        }
    }

    @Test
    void underAMemoryAlarmNoFenceIsDrawnAndNoSlotStaysTaken() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        backend.admin().create(name, 2);
        Hold before = takeOne(session);
        RabbitServer.eval("rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).");
        try {
            assertThatThrownBy(() -> take(session, 1)).isInstanceOf(BackendUnavailableException.class);
            assertThat(giveBack(session, before).lost()).isEmpty();
            assertThat(Rabbit.freeUnderAlarm(name)).isEqualTo(2);
        } finally {
            RabbitServer.eval("rabbit_alarm:clear_alarm({resource_limit, memory, node()}).");
        }
        await().ignoreExceptions().until(() -> take(session, 1).answers().get(0) instanceof Answer.Granted);
    }

    @Test
    void aReaderThatIsOpenTooLateReadsNothing() throws Exception {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        backend.admin().create(name, 1);
        try (TcpProxy proxy = new TcpProxy(new UriAccess(RabbitServer.uri()).address())) {
            String uri = "amqp://guest:guest@127.0.0.1:" + proxy.address().getPort() + "?timeout=30s";
            try (RabbitConnections connections = new RabbitConnections(
                            RabbitSettings.from(BackendUri.parse(uri), HolderInfo.ofThisProcess("a test")));
                    ProbeConnection probes = new ProbeConnection(connections)) {
                assertThat(probes.line(Deadline.NEVER).isOpen()).isTrue();
                int before = consumers();
                FenceStream fences = new FenceStream(connections, probes, names);
                try (LinkFault silence = proxy.stall(Direction.ANSWERS)) {
                    assertThatThrownBy(() -> fences.draw(CallBudget.of("a test", Duration.ofMillis(200))))
                            .isInstanceOf(ProbeFailedException.class);
                    await().until(() -> silence.strikes() > 0);
                }
                assertThat(fences.draw(CallBudget.of("a test", Duration.ofSeconds(30))))
                        .isPositive();
                await("only the one that draws reads").until(() -> consumers() == before + 1);
            }
        }
    }

    /** A call that began after the slot was removed must not get it from the one that took it before. */
    @Test
    void anEpochThatComesLateMakesNoSlotYounger() throws Exception {
        backend.admin().create(name, 2);
        try (TcpProxy proxy = new TcpProxy(new UriAccess(RabbitServer.uri()).address());
                SemaphoreBackend slow = Rabbit.backend(
                        "amqp://guest:guest@127.0.0.1:" + proxy.address().getPort(), "?timeout=1m&detection=2m");
                Connection observer = Rabbit.connection()) {
            BackendSession slowSession = slow.open(name, new Rabbit.News());
            // Or the message of the release below would come back at any time.
            BackendSession.Watch watch = otherSession.watch(() -> {});
            Hold second = granted(take(slowSession, 2).answers().get(0)).get(1);
            giveBack(slowSession, second);
            LinkFault ofDeclaration = proxy.stall(Direction.ANSWERS);
            CompletableFuture<ExchangeResult> taking = CompletableFuture.supplyAsync(() -> take(slowSession, 1));
            await().until(() -> ofDeclaration.strikes() > 0 && Rabbit.exists(observer, names.hold(second.slot())));
            long resized;
            try (LinkFault ofEpoch = proxy.stall(Direction.ANSWERS)) {
                ofDeclaration.close();
                await().until(() -> ofEpoch.strikes() > 0);
                // What is kept may be the epoch, which is sent for before the slots are looked at.
                awaitNoMoreRequests(proxy);
                backend.admin().resize(name, 1);
                resized = System.nanoTime();
            }
            ExchangeResult taken = taking.get(60, TimeUnit.SECONDS);
            assertThat(granted(taken.answers().get(0))).extracting(Hold::slot).containsExactly(second.slot());
            assertThat(taken.sent().orElseThrow() - resized).isNegative();
            watch.close();
            slowSession.close();
        }
    }

    private static void awaitNoMoreRequests(TcpProxy proxy) {
        AtomicLong before = new AtomicLong(-1);
        await().pollInterval(Duration.ofMillis(300)).until(() -> {
            long now = proxy.messages(Direction.REQUESTS);
            return before.getAndSet(now) == now;
        });
    }

    @Test
    void aStreamThatIsMissingOnlyUntilTheSemaphoreIsCreatedAgainIsNoFault() throws Exception {
        backend.admin().create(name, 1);
        try (TcpProxy proxy = new TcpProxy(new UriAccess(RabbitServer.uri()).address());
                RabbitConnections connections = connections(RabbitServer.uri());
                RabbitConnections slow = connections(
                        "amqp://guest:guest@127.0.0.1:" + proxy.address().getPort() + "?timeout=1m&detection=2m");
                ProbeConnection probes = new ProbeConnection(connections)) {
            CallBudget budget = CallBudget.of("a test", Duration.ofSeconds(60));
            HolderConnection holder = new HolderConnection(slow, "a test", reason -> {}, budget.end());
            TakenSlots taken = new TakenSlots(
                    names,
                    holder,
                    new QueueSight(connections, probes),
                    new FenceStream(connections, probes, names),
                    budget);
            RabbitServer.delete(names.fences());
            assertThat(taken.declare(List.of(1))).isTrue();
            CompletableFuture<Boolean> confirmed;
            try (LinkFault silence = proxy.stall(Direction.ANSWERS)) {
                confirmed = CompletableFuture.supplyAsync(() -> confirm(taken));
                await("no epoch was drawn, and it is asked why").until(() -> silence.strikes() > 0);
                backend.admin().create(name, 1);
            }
            assertThat(confirmed.get(60, TimeUnit.SECONDS)).isFalse();
            assertThat(taken.declare(List.of(1))).isTrue();
            assertThat(taken.confirm()).isTrue();
            assertThat(taken.epoch()).isPositive();
            holder.close(budget.end());
        }
    }

    /** As when another call of this client has no answer on it. */
    @Test
    void anEpochWhoseConnectionEndsIsDrawnOnAnother() throws Exception {
        backend.admin().create(name, 1);
        try (TcpProxy proxy = new TcpProxy(new UriAccess(RabbitServer.uri()).address());
                RabbitConnections connections = connections(
                        "amqp://guest:guest@127.0.0.1:" + proxy.address().getPort() + "?timeout=1m&detection=2m");
                ProbeConnection probes = new ProbeConnection(connections)) {
            CallBudget budget = CallBudget.of("a test", Duration.ofSeconds(60));
            FenceStream fences = new FenceStream(connections, probes, names);
            long first = fences.draw(budget);
            CompletableFuture<Long> second;
            try (LinkFault silence = proxy.stall(Direction.ANSWERS)) {
                fences.sendFor(budget);
                second = CompletableFuture.supplyAsync(() -> draw(fences, budget));
                await().until(() -> silence.strikes() > 0);
                probes.forget(probes.line(budget.end()));
            }
            assertThat(second.get(60, TimeUnit.SECONDS)).isGreaterThan(first);
        }
    }

    private static long draw(FenceStream fences, CallBudget budget) {
        try {
            return fences.draw(budget);
        } catch (ProbeFailedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static RabbitConnections connections(String uri) {
        return new RabbitConnections(RabbitSettings.from(BackendUri.parse(uri), HolderInfo.ofThisProcess("a test")));
    }

    private static boolean confirm(TakenSlots taken) {
        try {
            return taken.confirm();
        } catch (HolderConnection.LinkLostException e) {
            throw new IllegalStateException(e);
        }
    }

    /** After a start of the broker a stream may cost the connection that asks for it. */
    @Test
    void anErrorInsideTheBrokerIsTakenForAStreamThatIsStarting() {
        assertThat(FenceStream.isStarting(closed(AMQP.INTERNAL_ERROR))).isTrue();
        assertThat(FenceStream.isStarting(closed(AMQP.NOT_ALLOWED))).isFalse();
    }

    private static IOException closed(int code) {
        AMQP.Connection.Close reason = new AMQP.Connection.Close.Builder()
                .replyCode(code)
                .replyText("a test")
                .build();
        return new IOException(new ShutdownSignalException(true, false, reason, null));
    }
}
