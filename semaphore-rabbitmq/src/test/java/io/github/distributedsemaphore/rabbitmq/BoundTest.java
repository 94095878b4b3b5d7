package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.rabbitmq.client.Connection;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection;
import io.github.distributedsemaphore.rabbitmq.net.QueueSight;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.rabbitmq.net.RabbitSettings;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.agent.Signals;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every call ends in its time, whatever the broker and the link do, and a client that is closed leaves nothing. */
class BoundTest {
    /** A third of what is declared as the bound of an operation where {@code timeout=1s}. */
    private static final Duration BOUND = Duration.ofSeconds(2);

    private static final String SETTINGS = "?detection=10s&timeout=1s";

    /** Picks the connections that probe, by their properties C. */
    private static final String PROBES =
            "lists:member({<<\"connection_name\">>, longstr, <<\"semaphore probes\">>}, C)";

    private final String name = Rabbit.name();
    private Set<Thread> before = Set.of();
    private final SemaphoreBackend admin = Rabbit.backend("?timeout=1m");
    private final TcpProxy proxy = new TcpProxy(new UriAccess(RabbitServer.uri()).address());

    @BeforeEach
    void create() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        admin.admin().create(name, 3);
        before = Thread.getAllStackTraces().keySet();
    }

    @AfterEach
    void cleanUp() {
        proxy.close();
        admin.admin().destroy(name);
        admin.close();
    }

    private SemaphoreBackend throughProxy(String settings) {
        return Rabbit.backend("amqp://guest:guest@127.0.0.1:" + proxy.address().getPort(), settings);
    }

    enum Trouble {
        /** What arrives is kept. */
        STALLED,
        /** What arrives is lost. */
        SILENT,
        /** Requests arrive, answers do not. */
        HALF_OPEN,
        /** The process has SIGSTOP. */
        STOPPED
    }

    private AutoCloseable begin(Trouble trouble) throws Exception {
        return switch (trouble) {
            case STALLED -> proxy.stall()::heal;
            case SILENT -> proxy.lose()::heal;
            case HALF_OPEN -> proxy.lose(Direction.ANSWERS)::heal;
            case STOPPED -> {
                long broker = RabbitServer.node().pid();
                assertThat(Signals.stop(broker)).isTrue();
                yield () -> Signals.resume(broker);
            }
        };
    }

    @ParameterizedTest
    @EnumSource
    void everyCallEndsInTimeAndAClosedClientLeavesNoThread(Trouble trouble) throws Exception {
        SemaphoreBackend backend = throughProxy(SETTINGS);
        BackendSession session = backend.open(name, new Rabbit.News());
        Hold hold = Rabbit.takeOne(session);
        SemaphoreBackend fresh = throughProxy(SETTINGS);
        BackendSession freshSession = fresh.open(name, new Rabbit.News());
        AutoCloseable ending = begin(trouble);
        try {
            inTime("renew", () -> session.renew(List.of(hold)));
            inTime("give back", () -> Rabbit.giveBack(session, hold));
            inTime("take, after the connection was lost", () -> Rabbit.take(session, 1));
            inTime("watch", () -> session.watch(() -> {}));
            inTime("take, for the first time", () -> Rabbit.takeWaiting(freshSession, 2));
            inTime("describe", () -> fresh.admin().describe(name));
            inTime("create", () -> fresh.admin().create(name, 3));
            inTime("close a session", session::close);
            inTime("close another session", freshSession::close);
            inTime("close", backend::close);
            inTime("close the other", fresh::close);
            awaitNoThreads();
        } finally {
            ending.close();
        }
    }

    private static void inTime(String what, Runnable call) {
        long start = System.nanoTime();
        try {
            call.run();
        } catch (SemaphoreException e) {
            // Expected of most of them.
        }
        assertThat(Duration.ofNanos(System.nanoTime() - start)).as(what).isLessThan(BOUND);
    }

    private void awaitNoThreads() {
        await().atMost(Duration.ofSeconds(5))
                .untilAsserted(() -> assertThat(Thread.getAllStackTraces().keySet())
                        .filteredOn(thread -> !before.contains(thread))
                        .extracting(Thread::getName)
                        .noneMatch(left -> left.startsWith("semaphore-rabbitmq-") || left.startsWith("AMQP")));
    }

    @Test
    void aClientThatIsClosedWhileItConnectsLeavesNoThreadAndNoSocket() {
        SemaphoreBackend backend = throughProxy("?timeout=30s");
        BackendSession session = backend.open(name, new Rabbit.News());
        try (LinkFault stall = proxy.stall(Direction.ANSWERS)) {
            CompletableFuture<?> taking = CompletableFuture.runAsync(() -> Rabbit.take(session, 1));
            await().until(() -> stall.strikes() > 0);
            session.abort();
            backend.close();
            assertThat(taking).failsWithin(5, TimeUnit.SECONDS);
            awaitNoThreads();
        }
        await().atMost(Duration.ofSeconds(5)).until(() -> proxy.openConnections() == 0);
    }

    @Test
    void aLookThatIsNotAnsweredCostsNoPermit() {
        Rabbit.News news = new Rabbit.News();
        SemaphoreBackend backend = throughProxy("?detection=30s&timeout=600ms");
        BackendSession session = backend.open(name, news);
        Hold hold = Rabbit.takeOne(session);
        LinkFault silence = proxy.stall(Direction.ANSWERS);
        try {
            for (Runnable look : List.<Runnable>of(
                    () -> session.renew(List.of(hold)),
                    () -> session.check(hold),
                    () -> Rabbit.giveBack(session, hold))) {
                long start = System.nanoTime();
                assertThatThrownBy(look::run).isInstanceOf(BackendUnavailableException.class);
                assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(BOUND);
            }
        } finally {
            silence.close();
        }
        await().atMost(Duration.ofSeconds(5))
                .ignoreExceptions()
                .untilAsserted(() -> assertThat(session.check(hold)).isEqualTo(HoldState.HELD));
        assertThat(news.ended).isEmpty();
        assertThat(news.lost).isEmpty();
        await().atMost(Duration.ofSeconds(5))
                .ignoreExceptions()
                .untilAsserted(
                        () -> assertThat(session.renew(List.of(hold)).lost()).isEmpty());
        assertThat(Rabbit.giveBack(session, hold).lost()).isEmpty();
        assertThat(admin.admin().describe(name).orElseThrow().free()).isEqualTo(3);
        backend.close();
        awaitNoThreads();
    }

    /** Look and deletion together take longer than one call has time, and a deletion without answer costs the connection. */
    @Test
    void aReleaseAtASlowBrokerTakesTwoTriesAndCostsNoOtherPermit() {
        // The link delays one answer after the other: that of the count would take the time of the others.
        RabbitServer.delete(new QueueNames(name).count(HolderCount.SlotBlock.of(3, 3)));
        Rabbit.News news = new Rabbit.News();
        SemaphoreBackend backend = throughProxy("?detection=3m&timeout=4s");
        BackendSession session = backend.open(name, news);
        List<Hold> holds = Rabbit.granted(Rabbit.take(session, 2).answers().get(0));
        assertThat(holds).extracting(session::check).containsOnly(HoldState.HELD);
        Duration lag = Duration.ofMillis(2_400);
        try (LinkFault slow = proxy.delay(lag, lag, new Random(4), Direction.ANSWERS)) {
            assertThatThrownBy(() -> Rabbit.giveBack(session, holds.get(0)))
                    .isInstanceOf(BackendUnavailableException.class);
            assertThat(Rabbit.giveBack(session, holds.get(0)).lost()).isEmpty();
            assertThat(slow.strikes()).isPositive();
        }
        assertThat(news.ended).isEmpty();
        assertThat(session.check(holds.get(1))).isEqualTo(HoldState.HELD);
        assertThat(admin.admin().describe(name).orElseThrow().free()).isEqualTo(2);
        backend.close();
    }

    /** Each round trip takes a third of the time, so that a change cannot come to its end. */
    @Test
    void aChangeByAnAdministratorEndsWithinOneTimeOutInAll() {
        Duration timeout = Duration.ofSeconds(2);
        Duration lag = Duration.ofMillis(350);
        SemaphoreBackend backend = throughProxy("?detection=30s&timeout=2s");
        backend.ping();
        try (LinkFault slow = proxy.delay(lag, lag, new Random(1))) {
            for (Runnable change : List.<Runnable>of(
                    () -> backend.admin().resize(name, 900),
                    () -> backend.admin().create(name, 3),
                    () -> backend.admin().destroy(name))) {
                long start = System.nanoTime();
                try {
                    change.run();
                } catch (SemaphoreException e) {
                    // It may come to its end, or not.
                }
                assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(timeout.plusMillis(500));
            }
            assertThat(slow.strikes()).isPositive();
        }
        backend.close();
    }

    /** A look at all slots that there could be takes several answers. To look at them one by one would take much longer. */
    @Test
    void aBrokerThatAnswersSlowlyIsNotTakenForOneThatTakesNoMessages() {
        SemaphoreBackend backend = throughProxy("?timeout=12s");
        backend.ping();
        Duration lag = Duration.ofMillis(300);
        try (LinkFault delay = proxy.delay(lag, lag, new Random(2), Direction.ANSWERS)) {
            assertThat(backend.admin().describe(name).orElseThrow().free()).isEqualTo(3);
            assertThat(delay.strikes()).isPositive();
        } finally {
            backend.close();
        }
    }

    /** As a firewall does that forgets a connection. To look at a thousand slots one by one would take too long. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6})
    void aDescriptionOutlivesAConnectionThatFallsSilent(int answer) {
        SemaphoreBackend backend = throughProxy("?timeout=6s");
        backend.ping();
        Duration lag = Duration.ofMillis(50);
        try (LinkFault delay = proxy.delay(lag, lag, new Random(3), Direction.ANSWERS);
                LinkFault loss = proxy.loseAnswer(answer, Ending.SILENCE)) {
            assertThat(delay).isNotNull();
            assertThat(backend.admin().describe(name).orElseThrow().free()).isEqualTo(3);
            assertThat(loss.strikes()).isPositive();
        } finally {
            backend.close();
        }
    }

    @Test
    void hundredsOfHoldsStayHeldOverALinkOfTenMilliseconds() {
        // A busy broker takes its time for so many slots; the link is what is tested.
        await().atMost(Duration.ofMinutes(2))
                .ignoreException(OutcomeUnknownException.class)
                .untilAsserted(() -> admin.admin().resize(name, 500));
        SemaphoreBackend backend = throughProxy("?detection=1m&timeout=20s");
        BackendSession session = backend.open(name, new Rabbit.News());
        List<Hold> holds = Rabbit.granted(Rabbit.take(session, 500).answers().get(0));
        Duration lag = Duration.ofMillis(10);
        try (LinkFault delay = proxy.delay(lag, lag, new Random(0), Direction.ANSWERS)) {
            for (int round = 0; round < 2; round++) {
                var renewal = session.renew(holds);
                assertThat(renewal.lost()).isEmpty();
                assertThat(renewal.retired()).isEmpty();
                assertThat(renewal.validUntil().remaining()).isGreaterThan(session.renewEvery());
            }
            assertThat(Rabbit.giveBack(session, holds.toArray(Hold[]::new)).lost())
                    .isEmpty();
            assertThat(delay.strikes()).isPositive();
        } finally {
            session.close();
            backend.close();
        }
        assertThat(admin.admin().describe(name).orElseThrow().free()).isEqualTo(500);
    }

    @Test
    void aReleaseDoesNotWaitUntilMessagesCanBeReceivedAgain() {
        SemaphoreBackend backend = throughProxy("?timeout=10s");
        BackendSession session = backend.open(name, new Rabbit.News());
        BackendSession other = backend.open("another " + name, new Rabbit.News());
        Hold hold = Rabbit.takeOne(session);
        try (LinkFault loss = proxy.loseAnswerTo("sem:client:", Ending.SILENCE)) {
            closeProbes();
            // Before that it would bind once more on the connection that ends, and the answer to that is not to be had.
            await().until(() -> proxy.openConnections() == 1);
            CompletableFuture<?> watching = CompletableFuture.runAsync(() -> other.watch(() -> {}));
            await().until(() -> loss.strikes() > 0);
            inTime(
                    "a release",
                    () -> assertThat(Rabbit.giveBack(session, hold).lost()).isEmpty());
            session.abort();
            other.abort();
            backend.close();
            assertThat(watching).succeedsWithin(20, TimeUnit.SECONDS);
        }
    }

    private static void closeProbes() {
        RabbitServer.eval("[rabbit_networking:close_connection(P, \"a test\") || [{pid, P}, {client_properties, C}] <-"
                + " rabbit_networking:connection_info_all([pid, client_properties]), " + PROBES + "].");
    }

    @Test
    void whenOnlyTheConnectionOfTheProbesIsLostMessagesAreReceivedAndSentAgain() throws Exception {
        SemaphoreBackend other = Rabbit.backend("");
        BackendSession holding = admin.open(name, new Rabbit.News());
        BackendSession waiting = other.open(name, new Rabbit.News());
        QueueNames names = new QueueNames(name);
        AtomicInteger offers = new AtomicInteger();
        try (Connection observer = Rabbit.connection()) {
            List<Hold> holds = Rabbit.granted(Rabbit.take(holding, 3).answers().get(0));
            BackendSession.Watch watch = waiting.watch(offers::incrementAndGet);
            closeProbes();
            await().until(() -> !Rabbit.exists(observer, names.waiters()));
            awaitSubscribed(waiting, observer, names);
            // Whoever gives back has to notice first that it can send nothing.
            Deque<Hold> held = new ArrayDeque<>(holds);
            await("offered").until(() -> {
                Rabbit.giveBack(holding, held.remove());
                held.add(Rabbit.takeOne(holding));
                return offers.get() > 0;
            });
            watch.close();
        } finally {
            holding.close();
            waiting.close();
            other.close();
        }
    }

    /** Looks in vain until it is a consumer again. */
    private static void awaitSubscribed(BackendSession waiting, Connection observer, QueueNames names) {
        await("subscribed again").until(() -> {
            assertThat(Rabbit.takeWaiting(waiting, 1).answers()).containsExactly(Answer.FULL);
            return Rabbit.exists(observer, names.waiters());
        });
    }

    @Test
    void aClientWhoseQueuesOfMessagesAreDeletedMakesThemAgain() throws Exception {
        QueueNames names = new QueueNames(name);
        AtomicInteger changes = new AtomicInteger();
        List<String> ofOthers = RabbitServer.queues();
        try (SemaphoreBackend other = Rabbit.backend("");
                Connection observer = Rabbit.connection()) {
            BackendSession waiting = other.open(name, new Rabbit.News());
            Rabbit.take(waiting, 3);
            BackendSession.Watch watch = waiting.watch(changes::incrementAndGet);
            RabbitServer.delete(names.waiters());
            awaitSubscribed(waiting, observer, names);
            RabbitServer.queues().stream()
                    .filter(queue -> queue.startsWith(QueueNames.PREFIX + "client:") && !ofOthers.contains(queue))
                    .forEach(RabbitServer::delete);
            changes.set(0);
            await("told of changes again").until(() -> {
                assertThat(Rabbit.takeWaiting(waiting, 1).answers()).containsExactly(Answer.FULL);
                admin.admin().resize(name, 3);
                return changes.get() > 0;
            });
            watch.close();
            waiting.close();
        }
    }

    @Test
    void whatIsBegunTooLateToBeAnsweredCostsNoConnection() throws Exception {
        List<String> lost = new CopyOnWriteArrayList<>();
        String uri = "amqp://guest:guest@127.0.0.1:" + proxy.address().getPort();
        QueueNames names = new QueueNames(name);
        try (RabbitConnections connections = new RabbitConnections(
                        RabbitSettings.from(BackendUri.parse(uri), HolderInfo.ofThisProcess("a test")));
                ProbeConnection probes = new ProbeConnection(connections)) {
            HolderConnection holder = new HolderConnection(connections, "a test", lost::add, Deadline.NEVER);
            LinkFault silence = proxy.stall(Direction.ANSWERS);
            CallBudget late = new CallBudget(
                    "a test", System.nanoTime() - Duration.ofMillis(3_500).toNanos(), Duration.ofSeconds(4));
            TakenSlots taken = new TakenSlots(
                    names,
                    holder,
                    new QueueSight(connections, probes),
                    new FenceStream(connections, probes, names),
                    late);
            ExchangeRequest several = new ExchangeRequest(List.of(), List.of(2), 1, false);
            assertThatThrownBy(() -> taken.declare(List.of(1))).isInstanceOf(BackendUnavailableException.class);
            assertThatThrownBy(() -> new Collector(names).begin(several, holder, late))
                    .isInstanceOf(BackendUnavailableException.class);
            assertThat(lost).isEmpty();
            silence.heal();
        }
    }
}
