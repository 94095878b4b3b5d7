package io.github.distributedsemaphore.rabbitmq;

import static io.github.distributedsemaphore.rabbitmq.Rabbit.giveBack;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.granted;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.take;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.takeOne;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.takeWaiting;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a session does to the broker's queues. */
class SessionTest {
    private final String name = Rabbit.name();
    private final QueueNames names = new QueueNames(name);
    private final SemaphoreBackend backend = Rabbit.backend("?detection=4s");
    private final SemaphoreBackend other = Rabbit.backend("?detection=4s");
    private final Rabbit.News news = new Rabbit.News();
    private final BackendSession session = backend.open(name, news);
    private final BackendSession otherSession = other.open(name, new Rabbit.News());
    private Connection connection;

    @BeforeEach
    void connect() throws Exception {
        connection = Rabbit.connection();
    }

    @AfterEach
    void cleanUp() throws Exception {
        session.close();
        otherSession.close();
        backend.admin().destroy(name);
        backend.close();
        other.close();
        connection.close();
    }

    @Test
    void aHoldIsAnExclusiveQueueThatIsGoneWhenItIsGivenBack() throws Exception {
        backend.admin().create(name, 2);
        Hold hold = takeOne(session);
        assertThat(Rabbit.exists(connection, names.hold(hold.slot()))).isTrue();
        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(Rabbit.exists(connection, names.hold(hold.slot()))).isFalse();
        assertThat(giveBack(session, hold).lost()).containsExactly(hold);
    }

    @Test
    void oneSessionNeverHasASlotTwiceAlthoughItsConnectionCouldDeclareItAgain() {
        backend.admin().create(name, 3);
        assertThat(granted(take(session, 3).answers().get(0)))
                .extracting(Hold::slot)
                .containsExactlyInAnyOrder(1, 2, 3);
        assertThat(take(session, 1).answers()).containsExactly(Answer.FULL);
        assertThat(take(otherSession, 1).answers()).containsExactly(Answer.FULL);
    }

    @Test
    void wantsAreServedInOrderWholeOrNotAtAll() {
        backend.admin().create(name, 4);
        List<Answer> answers = take(session, 3, 2, 1, 5).answers();
        assertThat(granted(answers.get(0))).hasSize(3);
        assertThat(answers.get(1)).isEqualTo(Answer.FULL);
        assertThat(granted(answers.get(2))).hasSize(1);
        assertThat(answers.get(3)).isEqualTo(new Answer.ExceedsLimit(4));
        assertThat(backend.admin().describe(name).orElseThrow().free()).isZero();
    }

    @Test
    void partOfAMultiplePermitIsGivenBackWithinTheExchange() {
        backend.admin().create(name, 3);
        Hold held = takeOne(otherSession);
        assertThat(take(session, 3).answers()).containsExactly(Answer.FULL);
        assertThat(backend.admin().describe(name).orElseThrow().free()).isEqualTo(2);
        giveBack(otherSession, held);
        assertThat(granted(take(session, 3).answers().get(0))).hasSize(3);
    }

    @Test
    void ofTwoWhoTakeAllSlotsAtTheSameTimeOneGetsThem() throws Exception {
        backend.admin().create(name, 2);
        CyclicBarrier start = new CyclicBarrier(2);
        for (int round = 0; round < 40; round++) {
            CompletableFuture<Answer> there = CompletableFuture.supplyAsync(() -> takeBoth(otherSession, start));
            Answer here = takeBoth(session, start);
            List<Answer> answers = List.of(here, there.get(60, TimeUnit.SECONDS));
            assertThat(answers).as("round %d", round).hasAtLeastOneElementOfType(Answer.Granted.class);
            giveBackAll(session, answers.get(0));
            giveBackAll(otherSession, answers.get(1));
        }
    }

    private static Answer takeBoth(BackendSession session, CyclicBarrier start) {
        try {
            start.await(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return take(session, 2).answers().get(0);
    }

    private static void giveBackAll(BackendSession session, Answer answer) {
        if (answer instanceof Answer.Granted granted) {
            giveBack(session, granted.holds().toArray(Hold[]::new));
        }
    }

    @Test
    void whileAnotherClientCollectsSeveralAWaiterForSeveralDoesNotHoldUpOneForOne() throws Exception {
        backend.admin().create(name, 3);
        giveBack(session, takeOne(session));
        connection.createChannel().queueDeclare(names.collector(), false, true, false, null);
        ExchangeRequest request = new ExchangeRequest(List.of(), List.of(2, 1), 1, true);
        List<Answer> answers = session.exchange(request).answers();
        assertThat(answers.get(0)).isEqualTo(Answer.FULL);
        assertThat(granted(answers.get(1))).hasSize(1);
        // A collector that stalls is not waited for.
        await().until(() -> takeWaiting(session, 2).answers().get(0) instanceof Answer.Granted);
    }

    @Test
    void aSlotThatIsGivenBackIsLeftToAnotherClientThatWaitsUntilItDoesNotTakeIt() {
        backend.admin().create(name, 1);
        BackendSession.Watch watch = otherSession.watch(() -> {});
        await().untilAsserted(() -> {
            Hold hold = takeOne(session);
            assertThat(takeWaiting(otherSession, 1).answers()).containsExactly(Answer.FULL);
            giveBack(session, hold);
            Answer own = takeWaiting(session, 1).answers().get(0);
            if (own instanceof Answer.Granted granted) {
                giveBack(session, granted.holds().get(0));
            }
            assertThat(own).isEqualTo(Answer.FULL);
        });
        await().until(() -> takeWaiting(session, 1).answers().get(0) instanceof Answer.Granted);
        watch.close();
    }

    @Test
    void aClientThatIsOfferedASlotTakesIt() throws Exception {
        backend.admin().create(name, 1);
        Hold hold = takeOne(session);
        CountDownLatch offered = new CountDownLatch(1);
        BackendSession.Watch watch = otherSession.watch(offered::countDown);
        assertThat(takeWaiting(otherSession, 1).answers()).containsExactly(Answer.FULL);
        giveBack(session, hold);
        assertThat(offered.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(granted(takeWaiting(otherSession, 1).answers().get(0))).hasSize(1);
        watch.close();
    }

    /** One slot may go round among the callers of a client, which is offered it again and again. */
    @Test
    void aClientThatIsOfferedASlotWhenItBeginsToWaitTakesAnotherOneToo() throws Exception {
        backend.admin().create(name, 2);
        Hold hold = takeOne(session);
        CountDownLatch offered = new CountDownLatch(1);
        BackendSession.Watch watch = session.watch(offered::countDown);
        session.exchange(new ExchangeRequest(List.of(hold), List.of(), 1, true));
        assertThat(offered.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(session.exchange(new ExchangeRequest(List.of(), List.of(1, 1), 1, true))
                        .answers())
                .hasOnlyElementsOfType(Answer.Granted.class);
        watch.close();
    }

    /** Each attempt is refused just before it is asked for the caller that waits. */
    @Test
    void attemptsThatAreRefusedDoNotKeepAWaitingCallerFromWhatACrashFreed() {
        backend.admin().create(name, 5);
        granted(take(otherSession, 2).answers().get(0));
        ExchangeRequest attempt = new ExchangeRequest(List.of(), List.of(5), 1, true, 1);
        try (SemaphoreBackend third = Rabbit.backend("")) {
            BackendSession crashing = third.open(name, new Rabbit.News());
            granted(take(crashing, 3).answers().get(0));
            BackendSession.Watch watch = session.watch(() -> {});
            assertThat(takeWaiting(session, 1).answers()).containsExactly(Answer.FULL);
            crashing.abort();
            await().until(() -> {
                assertThat(session.exchange(attempt).answers()).containsExactly(Answer.FULL);
                return takeWaiting(session, 1).answers().get(0) instanceof Answer.Granted;
            });
            watch.close();
        }
    }

    @Test
    void aPingIsAnsweredByABrokerAndByNothingElse() {
        backend.ping();
        try (SemaphoreBackend nobody = Rabbit.backend("amqp://127.0.0.1:1", "")) {
            assertThatThrownBy(nobody::ping).isInstanceOf(BackendUnavailableException.class);
        }
    }

    @Test
    void aMissingSemaphoreIsMissingAndNothingIsMade() throws Exception {
        assertThat(take(session, 1).answers()).containsExactly(Answer.MISSING);
        assertThat(Rabbit.exists(connection, names.hold(1))).isFalse();
        assertThat(Rabbit.exists(connection, names.slot(1))).isFalse();
    }

    @Test
    void aSessionThatIsClosedOrAbortedLeavesNothing() {
        backend.admin().create(name, 1);
        takeOne(session);
        session.close();
        takeOne(otherSession);
        otherSession.abort();
        SemaphoreBackend third = Rabbit.backend("");
        BackendSession last = third.open(name, new Rabbit.News());
        await().until(() -> take(last, 1).answers().get(0) instanceof Answer.Granted);
        last.close();
        third.close();
        assertThat(news.ended).isEmpty();
    }

    @Test
    void aHoldThatAnOperatorDeletesIsLostAndItsSuccessorIsLeftAlone() throws Exception {
        backend.admin().create(name, 1);
        Hold hold = takeOne(session);
        Hold other = stealFrom(hold);
        assertThat(session.check(hold)).isEqualTo(HoldState.LOST);
        assertThat(news.lost).containsExactly(hold);
        assertThat(giveBack(session, hold).lost()).containsExactly(hold);
        assertThat(otherSession.check(other)).isEqualTo(HoldState.HELD);
        assertThat(session.renew(List.of(hold)).lost()).containsExactly(hold);
    }

    private Hold stealFrom(Hold hold) {
        RabbitServer.delete(names.hold(hold.slot()));
        // An attempt would be refused until the holder has been told.
        return granted(takeWaiting(otherSession, 1).answers().get(0)).get(0);
    }

    @Test
    void giveBackOfAHoldThatSomebodyElseHasNowTouchesNothing() {
        backend.admin().create(name, 1);
        Hold hold = takeOne(session);
        Hold other = stealFrom(hold);
        assertThat(giveBack(session, hold).lost()).containsExactly(hold);
        assertThat(otherSession.check(other)).isEqualTo(HoldState.HELD);
    }

    @Test
    void aHoldInARemovedSlotIsRetiredAndTheSlotIsNotGrantedAgain() {
        backend.admin().create(name, 2);
        List<Hold> holds = granted(take(session, 2).answers().get(0));
        backend.admin().resize(name, 1);
        Hold second =
                holds.stream().filter(hold -> hold.slot() == 2).findFirst().orElseThrow();
        assertThat(session.check(second)).isEqualTo(HoldState.RETIRED);
        Renewal renewal = session.renew(holds);
        assertThat(renewal.retired()).containsExactly(second);
        assertThat(renewal.lost()).isEmpty();
        assertThat(backend.admin().retiredHolders(name)).isEqualTo(1);
        giveBack(session, second);
        assertThat(backend.admin().retiredHolders(name)).isZero();
        assertThat(take(session, 1).answers()).containsExactly(Answer.FULL);
    }

    /** A look that finds the slot held is not enough for a refusal, and neither is one that finds it free. */
    @Test
    void anAttemptWhoseHoldIsDeletedWhileItIsVerifiedLooksAgain() throws Exception {
        backend.admin().create(name, 1);
        try (TcpProxy proxy = new TcpProxy(new UriAccess(RabbitServer.uri()).address());
                SemaphoreBackend slow = Rabbit.backend(
                        "amqp://guest:guest@127.0.0.1:" + proxy.address().getPort(), "?timeout=1m")) {
            BackendSession slowSession = slow.open(name, new Rabbit.News());
            giveBack(slowSession, takeOne(slowSession));
            Duration lag = Duration.ofSeconds(1);
            try (LinkFault delay = proxy.delay(lag, lag, new Random(5), Direction.ANSWERS)) {
                CompletableFuture<Answer> answer = CompletableFuture.supplyAsync(
                        () -> take(slowSession, 1).answers().get(0));
                await().pollInterval(Duration.ofMillis(10)).until(() -> Rabbit.exists(connection, names.hold(1)));
                RabbitServer.delete(names.hold(1));
                assertThat(delay.strikes()).isPositive();
                assertThat(granted(answer.get(60, TimeUnit.SECONDS)))
                        .extracting(Hold::slot)
                        .containsExactly(1);
            }
            slowSession.close();
        }
    }

    @Test
    void aSlotAboveAGapIsNotGranted() throws Exception {
        backend.admin().create(name, 3);
        takeOne(otherSession);
        Hold hold = takeOne(session);
        giveBack(session, hold);
        connection.createChannel().queueDelete(names.slot(1));
        assertThat(take(session, 1).answers()).containsExactly(Answer.MISSING);
        connection.createChannel().queueDelete(names.slot(2));
        connection.createChannel().queueDelete(names.slot(3));
    }

    @Test
    void aReleaseWakesAWatch() throws Exception {
        backend.admin().create(name, 1);
        Hold hold = takeOne(session);
        CountDownLatch hinted = new CountDownLatch(1);
        BackendSession.Watch watch = otherSession.watch(hinted::countDown);
        giveBack(session, hold);
        assertThat(hinted.await(10, TimeUnit.SECONDS)).isTrue();
        watch.close();
    }

    @Test
    void aClientThatIsClosedLeavesNoThread() {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        SemaphoreBackend third = Rabbit.backend("");
        third.admin().create(name, 1);
        BackendSession last = third.open(name, new Rabbit.News());
        takeOne(last);
        last.close();
        third.close();
        await().untilAsserted(() -> assertThat(Thread.getAllStackTraces().keySet())
                .filteredOn(thread -> !before.contains(thread))
                .extracting(Thread::getName)
                .noneMatch(left -> left.startsWith("semaphore-rabbitmq-") || left.startsWith("AMQP")));
    }

    @Test
    void interruptsNeitherBreakOffNorVanish() {
        backend.admin().create(name, 1);
        Thread.currentThread().interrupt();
        Hold hold = takeOne(session);
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
        giveBack(session, hold);
        assertThat(Thread.interrupted()).isTrue();
    }

    /** None of them takes it, so that each passes it on, three times at most. */
    @Test
    void aReleaseWakesFewOfManyThatWait() throws Exception {
        backend.admin().create(name, 1);
        AtomicInteger hints = new AtomicInteger();
        List<SemaphoreBackend> clients =
                Stream.generate(() -> Rabbit.backend("?detection=4s")).limit(8).toList();
        try {
            Hold hold = takeOne(session);
            for (SemaphoreBackend client : clients) {
                BackendSession waiting = client.open(name, new Rabbit.News());
                assertThat(takeWaiting(waiting, 1).answers()).containsExactly(Answer.FULL);
                waiting.watch(hints::incrementAndGet);
            }
            for (int round = 1; round <= 3; round++) {
                giveBack(session, hold);
                hold = takeOne(session);
                int most = 4 * round;
                await().untilAsserted(() -> assertThat(hints).hasValue(most));
            }
        } finally {
            clients.forEach(SemaphoreBackend::close);
        }
    }

    /** All of them see the same free slots. If each tried one after the other, nearly all would do so in vain. */
    @Test
    void oneOfACrowdThatMissesASlotTriesNoOtherAtOnce() throws Exception {
        backend.admin().create(name, 3);
        granted(take(otherSession, 2).answers().get(0));
        Channel channel = connection.createChannel();
        String freed = names.holds(List.of(3)).get(0);
        channel.queueDeclare(freed, false, /* exclusive */ true, false, Map.of());
        BackendSession.Watch otherWatch = otherSession.watch(() -> {});
        for (int i = 0; i < 16; i++) {
            channel.basicConsume(names.waiters(), true, (tag, message) -> {}, tag -> {});
        }
        AtomicBoolean isFree = new AtomicBoolean();
        CompletableFuture<Answer> answer = new CompletableFuture<>();
        BackendSession.Watch watch = session.watch(() -> {
            if (isFree.getAndSet(false)) {
                answer.complete(takeWaiting(session, 1).answers().get(0));
            }
        });
        assertThat(takeWaiting(session, 1).answers()).containsExactly(Answer.FULL);
        channel.queueDelete(freed);
        isFree.set(true);
        for (int i = 0; i < 18; i++) {
            AMQP.BasicProperties offerOfTaken =
                    new AMQP.BasicProperties.Builder().messageId("1").build();
            channel.basicPublish("", names.waiters(), offerOfTaken, new byte[0]);
        }
        assertThat(answer).succeedsWithin(Duration.ofSeconds(10)).isEqualTo(Answer.FULL);
        await().until(() -> takeWaiting(session, 1).answers().get(0) instanceof Answer.Granted);
        watch.close();
        otherWatch.close();
    }

    @Test
    void theQueueOfThoseThatWaitEndsWithTheLastOfThem() throws Exception {
        backend.admin().create(name, 1);
        BackendSession.Watch watch = session.watch(() -> {});
        assertThat(Rabbit.exists(connection, names.waiters())).isTrue();
        watch.close();
        await().until(() -> !Rabbit.exists(connection, names.waiters()));
    }
}
