package io.github.distributedsemaphore.rabbitmq;

import static io.github.distributedsemaphore.rabbitmq.Rabbit.giveBack;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.granted;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.take;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.rabbitmq.HolderCount.SlotBlock;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.rabbitmq.net.RabbitSettings;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Holders tell how many they are; what they do not tell is looked at. */
class HolderCountTest {
    /** While a thread has a value of it, it can start no other: as where the system has no more for the process. Counts. */
    private static final InheritableThreadLocal<AtomicInteger> NO_THREADS = new InheritableThreadLocal<>() {
        @Override
        protected AtomicInteger childValue(AtomicInteger refused) {
            refused.incrementAndGet();
            throw new OutOfMemoryError("a test: unable to create native thread");
        }
    };

    private final String name = Rabbit.name();
    private final QueueNames names = new QueueNames(name);
    private final SemaphoreBackend backend = Rabbit.backend("");
    private final SemaphoreBackend other = Rabbit.backend("");
    private final Rabbit.News news = new Rabbit.News();
    private final BackendSession session = backend.open(name, news);
    private final BackendSession otherSession = other.open(name, news);
    private Connection connection;
    private Channel channel;

    @BeforeEach
    void connect() throws Exception {
        connection = Rabbit.connection();
        channel = connection.createChannel();
    }

    @AfterEach
    void cleanUp() throws Exception {
        session.close();
        otherSession.close();
        backend.admin().destroy(name);
        backend.close();
        other.close();
        connection.close();
        assertThat(news.ended).isEmpty();
    }

    /** The queue of the block that ends there. */
    private String queue(int last) {
        return names.count(SlotBlock.of(last, last));
    }

    private int counted(int last) {
        try {
            return channel.queueDeclarePassive(queue(last)).getConsumerCount();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private void awaitCounted(int last, int holders) {
        await().until(() -> counted(last) == holders);
    }

    private List<Hold> takeAll(BackendSession by, int slots) {
        return granted(take(by, slots).answers().get(0));
    }

    private static Hold ofSlot(List<Hold> holds, int slot) {
        return holds.stream().filter(hold -> hold.slot() == slot).findFirst().orElseThrow();
    }

    private void assertFull(BackendSession to) {
        assertThat(take(to, 1).answers()).containsExactly(Answer.FULL);
    }

    @Test
    void eachHoldIsCountedUntilItIsGivenBack() {
        backend.admin().create(name, 3);
        Hold first = takeOne(session);
        Hold second = takeOne(otherSession);
        awaitCounted(3, 2);
        giveBack(session, first);
        assertThat(counted(3)).isEqualTo(1);
        giveBack(otherSession, second);
        assertThat(counted(3)).isZero();
    }

    @Test
    void theCountAloneProvesThatAnAttemptIsRefusedAndAWaiterLooks() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        backend.admin().create(name, 20);
        List<Hold> holds = takeAll(session, 20);
        awaitCounted(20, 20);
        Hold lost = ofSlot(holds, 7);
        RabbitServer.delete(names.hold(7));
        assertFull(otherSession);
        Hold taken =
                granted(Rabbit.takeWaiting(otherSession, 1).answers().get(0)).get(0);
        assertThat(taken.slot()).isEqualTo(7);
        assertThat(session.check(lost)).isEqualTo(HoldState.LOST);
        awaitCounted(20, 20);
    }

    /** The channel on which the count was asked for serves the next request. */
    @Test
    void attemptsInVainLeaveNoChannels() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        backend.admin().create(name, 20);
        takeAll(session, 20);
        awaitCounted(20, 20);
        assertFull(otherSession);
        int channels = FenceTest.channels();
        for (int i = 0; i < 20; i++) {
            assertFull(otherSession);
        }
        assertThat(FenceTest.channels()).isLessThan(channels + 10);
    }

    @Test
    void aHoldWhoseHolderWasToldOfItsLossIsNotCountedAnyMore() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        backend.admin().create(name, 2);
        List<Hold> holds = takeAll(session, 2);
        awaitCounted(2, 2);
        RabbitServer.delete(names.hold(1));
        assertThat(session.check(ofSlot(holds, 1))).isEqualTo(HoldState.LOST);
        assertThat(counted(2)).isEqualTo(1);
        assertThat(takeOne(otherSession).slot()).isEqualTo(1);
    }

    @Test
    void aHoldIsNotCountedAnyMoreWhenItIsGone() throws Exception {
        backend.admin().create(name, 1);
        for (int round = 0; round < 30; round++) {
            Hold hold = takeOne(session);
            awaitCounted(1, 1);
            CompletableFuture<?> end = CompletableFuture.runAsync(() -> giveBack(session, hold));
            while (Rabbit.exists(connection, names.hold(1))) {
                Thread.onSpinWait();
            }
            assertThat(counted(1)).as("round %d", round).isZero();
            end.get(60, TimeUnit.SECONDS);
        }
    }

    @Test
    void aHolderThatIsNotCountedIsRespected() throws Exception {
        backend.admin().create(name, 20);
        channel.queueDeclare(names.hold(7), false, true, false, Map.of("x-max-length", 0));
        assertThat(takeAll(session, 19)).extracting(Hold::slot).doesNotContain(7);
        assertFull(otherSession);
        channel.queueDelete(names.hold(7));
        assertThat(takeOne(otherSession).slot()).isEqualTo(7);
    }

    @Test
    void aHolderThatDiesIsNotCountedAnyMore() {
        backend.admin().create(name, 20);
        takeAll(session, 20);
        awaitCounted(20, 20);
        session.abort();
        awaitCounted(20, 0);
        await().until(() -> take(otherSession, 20).answers().get(0) instanceof Answer.Granted);
    }

    @Test
    void holdersOfRemovedSlotsAreNotCountedForThoseThatAreLeft() {
        backend.admin().create(name, 40);
        List<Hold> holds = takeAll(session, 40);
        awaitCounted(40, 40);
        backend.admin().resize(name, 20);
        // As many as are left hold slots that are removed.
        giveBack(session, holds.stream().filter(hold -> hold.slot() <= 20).toArray(Hold[]::new));
        assertThat(takeAll(otherSession, 20)).hasSize(20);
        assertFull(otherSession);
        assertFull(session);
    }

    @Test
    void thatIsSoAlsoWhenAnotherProgramRemovesThemAndLeavesTheCountQueue() throws Exception {
        backend.admin().create(name, 40);
        List<Hold> holds = takeAll(session, 40);
        awaitCounted(40, 40);
        for (int slot = 40; slot > 20; slot--) {
            channel.queueDelete(names.slot(slot));
        }
        giveBack(session, holds.stream().filter(hold -> hold.slot() <= 20).toArray(Hold[]::new));
        assertThat(counted(40)).isEqualTo(20);
        assertThat(takeAll(otherSession, 20)).hasSize(20);
        assertFull(otherSession);
        backend.admin().resize(name, 40);
        backend.admin().resize(name, 20);
    }

    @Test
    void slotsThatAreAddedAgainWhileTheirHoldersAreStillThereAreHeld() {
        backend.admin().create(name, 40);
        List<Hold> holds = takeAll(session, 40);
        backend.admin().resize(name, 20);
        backend.admin().resize(name, 40);
        giveBack(session, ofSlot(holds, 1));
        assertThat(takeOne(otherSession).slot()).isEqualTo(1);
        assertFull(otherSession);
        giveBack(session, ofSlot(holds, 40));
        assertThat(takeOne(otherSession).slot()).isEqualTo(40);
    }

    @Test
    void whoTookASlotBeforeTheSemaphoreGrewIsRespectedAndWhatWasAddedIsFound() {
        backend.admin().create(name, 20);
        takeAll(session, 20);
        assertFull(otherSession);
        backend.admin().resize(name, 40);
        assertThat(takeAll(otherSession, 20)).extracting(Hold::slot).allMatch(slot -> slot > 20);
        assertFull(otherSession);
        assertFull(session);
    }

    @Test
    void withoutACountQueueEverythingWorks() throws Exception {
        backend.admin().create(name, 20);
        channel.queueDelete(queue(20));
        List<Hold> holds = takeAll(session, 20);
        assertFull(otherSession);
        assertFull(otherSession);
        giveBack(session, ofSlot(holds, 13));
        assertThat(takeOne(otherSession).slot()).isEqualTo(13);
        assertThat(session.check(ofSlot(holds, 1))).isEqualTo(HoldState.HELD);
    }

    @Test
    void aCountQueueThatIsDeletedWhileHoldersAreCountedIsMadeAgainByCreate() throws Exception {
        backend.admin().create(name, 20);
        List<Hold> holds = takeAll(session, 20);
        awaitCounted(20, 20);
        channel.queueDelete(queue(20));
        assertFull(otherSession);
        backend.admin().create(name, 20);
        giveBack(session, ofSlot(holds, 13));
        Hold again = takeOne(session);
        awaitCounted(20, 1);
        assertFull(otherSession);
        assertThat(session.check(again)).isEqualTo(HoldState.HELD);
    }

    @Test
    void aMessageToACountQueueHarmsNoHolder() throws Exception {
        backend.admin().create(name, 2);
        Hold hold = takeOne(session);
        awaitCounted(2, 1);
        channel.confirmSelect();
        for (int i = 0; i < 10; i++) {
            channel.basicPublish("", queue(2), new AMQP.BasicProperties(), new byte[] {1});
        }
        channel.waitForConfirmsOrDie(60_000);
        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
        assertThat(counted(2)).isEqualTo(1);
        giveBack(session, hold);
        assertThat(counted(2)).isZero();
    }

    /** The slots are taken by then. */
    @Test
    void thatThereIsNoThreadToCountWithIsNoFailure() {
        AtomicInteger refused = new AtomicInteger();
        CountDownLatch end = new CountDownLatch(1);
        try (RabbitConnections connections = new RabbitConnections(
                RabbitSettings.from(BackendUri.parse(RabbitServer.uri()), HolderInfo.ofThisProcess("a test")))) {
            HolderConnection holder = new HolderConnection(connections, "a test", reason -> {}, Deadline.NEVER);
            // So that none is idle.
            for (int i = 0; i < 20; i++) {
                connections.execute(() -> InterruptShield.await(end::await, Deadline.NEVER));
            }
            HolderCount count = new HolderCount(names, connections::executeIfPossible);
            assertThatCode(() -> {
                        NO_THREADS.set(refused);
                        try {
                            count.add(List.of(1), 1, holder);
                            connections.executeIfPossible(() -> {});
                        } finally {
                            NO_THREADS.remove();
                        }
                    })
                    .doesNotThrowAnyException();
            assertThat(refused).hasValue(2);
            assertThat(holder.isOpen()).isTrue();
        } finally {
            end.countDown();
        }
    }

    /** For many slots at once the default is too short on a busy machine. */
    private static SemaphoreBackend patient() {
        return Rabbit.backend("?timeout=15s");
    }

    @Test
    void slotsOfSeveralBlocksAreCountedAndTheOneThatIsFreeIsFound() {
        try (SemaphoreBackend patient = patient()) {
            patient.admin().create(name, SlotBlock.SIZE + 3);
        }
        List<Hold> holds = takeAll(session, SlotBlock.SIZE + 3);
        awaitCounted(SlotBlock.SIZE, SlotBlock.SIZE);
        awaitCounted(SlotBlock.SIZE + 3, 3);
        assertFull(otherSession);
        giveBack(session, ofSlot(holds, SlotBlock.SIZE + 2));
        assertThat(takeOne(otherSession).slot()).isEqualTo(SlotBlock.SIZE + 2);
        giveBack(session, ofSlot(holds, 5));
        assertThat(granted(Rabbit.takeWaiting(otherSession, 1).answers().get(0)))
                .extracting(Hold::slot)
                .containsExactly(5);
    }

    @Test
    void nothingIsLeftOfASemaphoreThatWasResizedAndDestroyed() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        try (SemaphoreBackend patient = patient()) {
            patient.admin().create(name, 2 * SlotBlock.SIZE + 3);
            patient.admin().resize(name, 2);
            patient.admin().resize(name, SlotBlock.SIZE + 1);
            assertThat(queuesAtBroker()).contains(queue(SlotBlock.SIZE), queue(SlotBlock.SIZE + 1));
            takeOne(session);
            session.close();
            patient.admin().destroy(name);
        }
        assertThat(queuesAtBroker()).isEmpty();
    }

    private List<String> queuesAtBroker() {
        return RabbitServer.queues().stream()
                .filter(queue -> queue.startsWith(QueueNames.PREFIX + names.encoded() + ":"))
                .toList();
    }
}
