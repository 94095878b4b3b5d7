package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection;
import io.github.distributedsemaphore.rabbitmq.net.QueueSight;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.rabbitmq.net.RabbitSettings;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the administration makes of the broker's queues. */
class AdminTest {
    private final String name = Rabbit.name();
    private final QueueNames names = new QueueNames(name);
    private final SemaphoreBackend backend = Rabbit.backend("");
    private final BackendAdmin admin = backend.admin();
    private Connection connection;
    private Channel channel;

    @BeforeEach
    void connect() throws Exception {
        connection = Rabbit.connection();
        channel = connection.createChannel();
    }

    @AfterEach
    void cleanUp() throws Exception {
        admin.destroy(name);
        backend.close();
        connection.close();
    }

    private void plant(int slot) throws Exception {
        channel.queueDeclare(
                names.slot(slot), true, false, false, Map.of("x-max-length", 0, "x-queue-type", "classic"));
    }

    private List<Integer> slots(int to) {
        return IntStream.rangeClosed(1, to)
                .filter(slot -> {
                    try {
                        return Rabbit.exists(connection, names.slot(slot));
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                })
                .boxed()
                .toList();
    }

    @Test
    void eachSlotIsAQueueAndGrowingMakesEachOfThem() {
        assertThat(admin.create(name, 2)).isTrue();
        assertThat(admin.create(name, 2)).isFalse();
        assertThatThrownBy(() -> admin.create(name, 3)).isInstanceOf(LimitConflictException.class);
        admin.resize(name, 5);
        assertThat(slots(6)).containsExactly(1, 2, 3, 4, 5);
        admin.resize(name, 1);
        assertThat(slots(6)).containsExactly(1);
        assertThat(admin.destroy(name)).isTrue();
        assertThat(slots(6)).isEmpty();
        assertThat(admin.destroy(name)).isFalse();
        assertThatThrownBy(() -> admin.resize(name, 1)).isInstanceOf(NoSuchSemaphoreException.class);
    }

    @Test
    void whatABrokenOffCreateLeftIsNoSemaphoreAndIsClearedAway() throws Exception {
        plant(3);
        plant(9);
        assertThat(admin.describe(name)).isEmpty();
        assertThat(admin.create(name, 4)).isTrue();
        assertThat(slots(10)).containsExactly(1, 2, 3, 4);
    }

    @Test
    void destroyingFromTheFirstSlotOnRemovesAllAndAlsoWhatLiesAboveAGap() throws Exception {
        admin.create(name, 3);
        plant(6);
        assertThat(admin.destroy(name)).isTrue();
        assertThat(slots(8)).isEmpty();
        assertThat(admin.destroy(name)).isFalse();
    }

    @Test
    void whatADestroyFromTheFirstSlotOnLeftWhenItWasBrokenOffIsRemovedByTheNext() throws Exception {
        plant(2);
        plant(5);
        assertThat(admin.destroy(name)).isFalse();
        assertThat(slots(6)).isEmpty();
    }

    @Test
    void strayQueuesAboveAGapAreRemovedByDestroyAndByResize() throws Exception {
        admin.create(name, 2);
        plant(7);
        admin.resize(name, 3);
        assertThat(slots(8)).containsExactly(1, 2, 3);
        plant(6);
        admin.destroy(name);
        assertThat(slots(8)).isEmpty();
    }

    @Test
    void concurrentCreatesMakeOneSemaphore() {
        List<CompletableFuture<Boolean>> creates = Stream.generate(
                        () -> CompletableFuture.supplyAsync(() -> admin.create(name, 3)))
                .limit(5)
                .toList();
        assertThat(creates.stream().filter(CompletableFuture::join)).hasSize(1);
        assertThat(slots(4)).containsExactly(1, 2, 3);
    }

    @Test
    void anotherAdministratorAtWorkIsWaitedForAndThenReported() throws Exception {
        channel.queueDeclare(names.mutex(), false, true, false, Map.of());
        assertThatThrownBy(() -> admin.create(name, 1))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("another administrator");
        channel.queueDelete(names.mutex());
        assertThat(admin.create(name, 1)).isTrue();
    }

    @Test
    void aForeignQueueInTheFirstSlotsPlaceIsRefusedAndLeftAlone() throws Exception {
        channel.queueDeclare(names.slot(1), true, false, false, Map.of());
        assertThatThrownBy(() -> admin.create(name, 1)).isInstanceOf(IncompatibleStateException.class);
        assertThat(Rabbit.exists(connection, names.slot(1))).isTrue();
    }

    /** From the first slot on, so that what is seen of the others is a part of them at most. */
    @Test
    void aLimitThatIsReadWhileTheSemaphoreIsDestroyedIsNone() throws Exception {
        admin.create(name, 2);
        try (TcpProxy proxy = new TcpProxy(new UriAccess(RabbitServer.uri()).address());
                RabbitConnections connections = connections(RabbitServer.uri());
                RabbitConnections slow = connections(
                        "amqp://guest:guest@127.0.0.1:" + proxy.address().getPort() + "?timeout=1m&detection=2m");
                ProbeConnection probes = new ProbeConnection(connections)) {
            CallBudget budget = CallBudget.of("a test", Duration.ofSeconds(60));
            HolderConnection holder = new HolderConnection(slow, "a test", reason -> {}, budget.end());
            QueueSight sight = new QueueSight(connections, probes);
            CompletableFuture<Integer> limit;
            try (LinkFault silence = proxy.stall(Direction.REQUESTS)) {
                limit = CompletableFuture.supplyAsync(() -> limitToTake(sight, holder, budget));
                await("the slots were seen, and the first is looked at").until(() -> silence.strikes() > 0);
                channel.queueDelete(names.slot(1));
            }
            assertThat(limit.get(60, TimeUnit.SECONDS)).isZero();
            holder.close(budget.end());
        }
    }

    private int limitToTake(QueueSight sight, HolderConnection holder, CallBudget budget) {
        try {
            return SlotQueues.limitToTake(sight, names, holder, budget);
        } catch (HolderConnection.LinkLostException e) {
            throw new IllegalStateException(e);
        }
    }

    private static RabbitConnections connections(String uri) {
        return new RabbitConnections(RabbitSettings.from(BackendUri.parse(uri), HolderInfo.ofThisProcess("a test")));
    }

    private static Stream<String> wordsOfTheBroker() {
        return Stream.of(
                "down-limit is down", "it's inaccessible", "'stopped by supervisor'", "no queue limit ".repeat(15));
    }

    /** The broker puts the name into the text of a refusal, and cuts off what gets too long. */
    @ParameterizedTest
    @MethodSource("wordsOfTheBroker")
    void aNameIsNotReadAsAWordOfTheBroker(String words) {
        String speaking = words + name;
        try (SemaphoreBackend differing = Rabbit.backend("?slotQueues=quorum");
                BackendSession session = backend.open(speaking, new Rabbit.News())) {
            assertThat(admin.describe(speaking)).isEmpty();
            assertThat(Rabbit.take(session, 1).answers()).containsExactly(Answer.MISSING);
            assertThat(admin.create(speaking, 1)).isTrue();
            Rabbit.giveBack(session, Rabbit.takeOne(session));
            assertThatThrownBy(() -> differing.admin().create(speaking, 1))
                    .isInstanceOf(IncompatibleStateException.class)
                    .hasMessageContaining("'slotQueues'");
        } finally {
            admin.destroy(speaking);
        }
    }

    @Test
    void holdersAreShownByWhatTheyAnswer() throws Exception {
        admin.create(name, 3);
        BackendSession session = backend.open(name, new Rabbit.News());
        Hold hold = Rabbit.takeOne(session);
        channel.queueDeclare(names.hold(3), false, true, false, Map.of());
        admin.resize(name, 2);
        SemaphoreDescription shown = admin.describe(name).orElseThrow();
        assertThat(shown.free()).isEqualTo(1);
        assertThat(shown.holders()).hasSize(2);
        assertThat(shown.holders().get(0).slot()).isEqualTo(hold.slot());
        assertThat(shown.holders().get(0).label()).isEqualTo("a test");
        assertThat(shown.holders().get(0).pid())
                .isEqualTo(ProcessHandle.current().pid());
        assertThat(shown.holders().get(1).state()).isEqualTo(HolderState.RETIRED);
        assertThat(shown.holders().get(1).host()).isEmpty();
        session.close();
        channel.queueDelete(names.hold(3));
    }

    /** On a busy machine the time of a call may be over before a thousand queues are made. */
    @Test
    void asManySlotsAsThereMayBeAreMadeAndRemovedByCallsThatAreRepeatedIfBrokenOff() {
        try (SemaphoreBackend usual = Rabbit.backend("?detection=10s")) {
            repeated(() -> usual.admin().create(name, 1_000));
            assertThat(usual.admin().describe(name).orElseThrow().limit()).isEqualTo(1_000);
            repeated(() -> usual.admin().destroy(name));
            assertThat(usual.admin().describe(name)).isEmpty();
        }
    }

    private static void repeated(Callable<Boolean> change) {
        await().atMost(Duration.ofMinutes(3))
                .ignoreException(OutcomeUnknownException.class)
                .until(change, done -> true);
    }

    /** On a busy broker a thousand slots take several calls, of which none would come to an end if each began at the top. */
    @Test
    void aRepeatedCreationMakesFirstWhatIsMissing() {
        BitSet there = new BitSet();
        there.set(4, 7);

        assertThat(RabbitAdmin.below(6, there)).containsExactly(3, 2, 5, 4, 1);
        assertThat(RabbitAdmin.below(3, new BitSet())).containsExactly(2, 1);
        assertThat(RabbitAdmin.below(1, new BitSet())).isEmpty();
    }

    @Test
    void aFewHundredSlotsAreMadeAndSearchedInTime() {
        // The default is too short on a busy machine.
        try (SemaphoreBackend patient = Rabbit.backend("?timeout=30s")) {
            patient.admin().create(name, 300);
            BackendSession session = patient.open(name, new Rabbit.News());
            assertThat(Rabbit.granted(Rabbit.take(session, 300).answers().get(0)))
                    .hasSize(300);
            assertThat(patient.admin().describe(name).orElseThrow().free()).isZero();
            session.close();
            assertThat(patient.admin().describe(name).orElseThrow().free()).isEqualTo(300);
            assertThat(patient.admin().destroy(name)).isTrue();
        }
    }
}
