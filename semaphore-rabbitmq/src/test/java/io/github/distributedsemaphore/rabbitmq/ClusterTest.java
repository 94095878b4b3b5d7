package io.github.distributedsemaphore.rabbitmq;

import static io.github.distributedsemaphore.rabbitmq.Rabbit.take;
import static io.github.distributedsemaphore.rabbitmq.Rabbit.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A cluster of three brokers, of which one is killed. */
class ClusterTest {
    private static final int NODES = 3;
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String SETTINGS = "?detection=4s&slotQueues=";

    /** So many clients connect that one of them almost certainly comes to the node that joined later. */
    private static final int MANY = 6;

    private static final List<RabbitNode> NODE = new ArrayList<>();
    private static ErlangHome home;

    private final String name = Rabbit.name();
    private final List<SemaphoreBackend> backends = new ArrayList<>();
    private final List<BackendSession> sessions = new ArrayList<>();
    private final Rabbit.News news = new Rabbit.News();

    @BeforeAll
    @Timeout(value = 5, unit = TimeUnit.MINUTES)
    static void start() {
        assumeTrue(RabbitNode.isInstalled(), "no broker is installed that a cluster could be made of");
        home = new ErlangHome();
        NODE.add(RabbitNode.start(home));
        while (NODE.size() < NODES) {
            NODE.add(joining());
        }
    }

    private static RabbitNode joining() {
        return RabbitNode.start(
                home,
                "cluster_formation.peer_discovery_backend = classic_config",
                "cluster_formation.classic_config.nodes.1 = " + NODE.get(0).node());
    }

    @AfterAll
    static void stop() {
        if (!NODE.isEmpty()) {
            NODE.get(0).close();
            NODE.clear();
        }
    }

    @AfterEach
    void cleanUp() {
        NODE.stream().filter(node -> !node.isRunning()).forEach(RabbitNode::restart);
        sessions.forEach(BackendSession::close);
        soon(() -> at(0, "classic").admin().destroy(name));
        backends.forEach(SemaphoreBackend::close);
    }

    private SemaphoreBackend at(int node, String type) {
        return client(NODE.get(node).uri(), type);
    }

    private SemaphoreBackend client(String uri, String type) {
        SemaphoreBackend backend = Rabbit.backend(uri, SETTINGS + type);
        backends.add(backend);
        return backend;
    }

    private BackendSession open(SemaphoreBackend backend) {
        BackendSession session = backend.open(name, news);
        sessions.add(session);
        return session;
    }

    /** The addresses of all nodes. */
    private static String everywhere() {
        return addresses(NODE.stream());
    }

    private static String addresses(Stream<RabbitNode> nodes) {
        return "amqp://guest:guest@"
                + nodes.map(node -> "127.0.0.1:" + node.port()).collect(Collectors.joining(","));
    }

    /** The nodes that are left take a moment until they have noticed. */
    private static <T> T soon(Supplier<T> call) {
        return await().atMost(PATIENCE)
                .ignoreException(BackendUnavailableException.class)
                .until(call::get, result -> true);
    }

    @Test
    void theLimitHoldsOverAllNodes() {
        at(0, "quorum").admin().create(name, 2);
        Hold first = takeOne(open(at(1, "quorum")));
        Hold second = takeOne(open(at(2, "quorum")));
        assertThat(second.slot()).isNotEqualTo(first.slot());
        assertThat(take(open(at(0, "quorum")), 1).answers()).containsExactly(Answer.FULL);
        assertThat(take(open(client(everywhere(), "quorum")), 1).answers()).containsExactly(Answer.FULL);
    }

    @Test
    void aNodeThatDiesTakesItsHoldsAndNoSlotsThatAreQuorumQueues() {
        at(0, "quorum").admin().create(name, 2);
        BackendSession dying = open(at(2, "quorum"));
        BackendSession staying = open(at(1, "quorum"));
        Hold lost = takeOne(dying);
        Hold kept = takeOne(staying);
        NODE.get(2).kill();

        await().untilAsserted(() -> assertThat(news.ended).hasSize(1));
        assertThat(dying.check(lost)).isEqualTo(HoldState.LOST);
        assertThat(soon(() -> staying.check(kept))).isEqualTo(HoldState.HELD);
        BackendSession heir = open(client(everywhere(), "quorum"));
        Hold taken = soon(() -> takeOne(heir));
        assertThat(taken.slot()).isEqualTo(lost.slot());
        assertThat(taken.epoch()).isGreaterThan(lost.lastEpoch());
        assertThat(take(heir, 1).answers()).containsExactly(Answer.FULL);
        assertThat(soon(() -> client(everywhere(), "quorum").admin().describe(name)))
                .map(SemaphoreDescription::limit)
                .contains(2);
    }

    @Test
    void aSemaphoreWhoseNodeIsDownIsUnavailableAndNotMissingAndIsBackWithTheNode() {
        SemaphoreBackend other = at(0, "classic");
        at(2, "classic").admin().create(name, 2);
        NODE.get(2).kill();

        BackendSession session = open(other);
        assertThatThrownBy(() -> take(session, 1)).isInstanceOf(BackendUnavailableException.class);
        assertThatThrownBy(() -> other.admin().describe(name)).isInstanceOf(BackendUnavailableException.class);
        assertThatThrownBy(() -> other.admin().resize(name, 3)).isInstanceOf(BackendUnavailableException.class);
        NODE.get(2).restart();
        BackendSession later = open(other);
        assertThat(soon(() -> takeOne(later)).slot()).isEqualTo(1);
    }

    /** A broker of version 3 answers probes of the slots of that node as if there were none. */
    @Test
    void aSemaphoreOfWhichOneNodeHasTheHighestSlotsHasNoLowerLimitWhenThatIsDown() {
        SemaphoreBackend other = at(0, "classic");
        other.admin().create(name, 2);
        at(2, "classic").admin().resize(name, 4);
        NODE.get(2).kill();

        BackendSession session = open(other);
        assertThatThrownBy(() -> take(session, 3)).isInstanceOf(BackendUnavailableException.class);
        ExchangeRequest both = new ExchangeRequest(List.of(), List.of(1, 3), 1, true);
        List<Answer> answers = soon(() -> session.exchange(both)).answers();
        assertThat(answers.get(0)).isInstanceOf(Answer.Granted.class);
        assertThat(answers.get(1)).isEqualTo(Answer.FULL);
        NODE.get(2).restart();
        assertThat(soon(() -> other.admin().describe(name).orElseThrow()).limit())
                .isEqualTo(4);
    }

    @Test
    @Timeout(value = 5, unit = TimeUnit.MINUTES)
    void clientsOfSeveralNodesPassByOneThatJoinedLaterAndHasNoReplicaOfTheStream() {
        at(0, "quorum").admin().create(name, MANY);
        whileAnotherNodeIsThere(late -> {
            for (int i = 0; i < MANY; i++) {
                BackendSession session = open(client(
                        addresses(Stream.concat(Stream.of(late), NODE.stream().limit(1))), "quorum"));
                assertThat(soon(() -> takeOne(session))).isNotNull();
            }
        });
    }

    /** The coordinator of streams comes to a node within some 30 seconds, and never as long as clients ask the node for streams. */
    @Test
    @Timeout(value = 5, unit = TimeUnit.MINUTES)
    void aNodeThatJoinedLaterGrantsOnceTheCoordinatorAndAReplicaOfTheStreamAreThere() {
        at(0, "quorum").admin().create(name, 2);
        Hold before = takeOne(open(at(1, "quorum")));
        whileAnotherNodeIsThere(late -> {
            await().atMost(PATIENCE.multipliedBy(2))
                    .until(() -> late.eval("whereis(rabbit_stream_coordinator) =/= undefined."), "true"::equals);
            NODE.get(0).addReplica(new QueueNames(name).fences(), late);
            BackendSession session = open(client(late.uri(), "quorum"));
            assertThat(soon(() -> takeOne(session)).epoch()).isGreaterThan(before.lastEpoch());
        });
    }

    private static void whileAnotherNodeIsThere(Consumer<RabbitNode> test) {
        assumeTrue(Boolean.getBoolean("tck.clusters"), "it takes a minute, and runs with -Dtck.clusters=true only");
        RabbitNode late = joining();
        try {
            test.accept(late);
        } finally {
            late.stop();
            NODE.get(0).ctl("forget_cluster_node", late.node());
        }
    }
}
