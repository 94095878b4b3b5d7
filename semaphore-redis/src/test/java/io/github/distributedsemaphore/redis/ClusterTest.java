package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.redis.worklock.RedisWorkLock;
import io.github.distributedsemaphore.redis.worklock.WorkAttempt;
import io.github.distributedsemaphore.redis.worklock.WorkOutcome;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Semaphores on the nodes of a cluster, and hash slots that move from one to another meanwhile. */
class ClusterTest {
    private static RedisCluster cluster;

    private final String prefix = "test-" + UUID.randomUUID();
    private final List<SemaphoreBackend> backends = new ArrayList<>();
    private final List<BackendSession> sessions = new ArrayList<>();
    private SemaphoreBackend backend;

    @BeforeAll
    static void start() {
        cluster = new RedisCluster();
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    @BeforeEach
    void open() {
        backend = client();
    }

    @AfterEach
    void close() {
        sessions.forEach(BackendSession::close);
        backends.forEach(SemaphoreBackend::close);
    }

    @Test
    void aWorkLockFindsItsServer() throws Exception {
        try (RedisWorkLock lock = RedisWorkLock.builder(cluster.uri()).build()) {
            assertThat(lock.run("job", WorkAttempt::done)).isEqualTo(WorkOutcome.DONE);
            assertThat(lock.run("job", WorkAttempt::done)).isEqualTo(WorkOutcome.FINISHED_ELSEWHERE);
        }
    }

    /** A job that a worker in the middle of a move asks for, and one that a worker asks for that has not heard of it. */
    @Test
    void aWorkLockFollowsASlotThatMoves() throws Exception {
        String slot = "{work-" + prefix + "}";
        int from = cluster.nodeOf(slot);
        int to = (from + 1) % 3;
        ExecutorService threads = Executors.newCachedThreadPool();
        try (RedisWorkLock lock = RedisWorkLock.builder(cluster.uri()).build();
                RedisWorkLock unaware = RedisWorkLock.builder(cluster.uri()).build()) {
            assertThat(lock.run(slot + "before", WorkAttempt::done)).isEqualTo(WorkOutcome.DONE);
            assertThat(unaware.run(slot + "too", WorkAttempt::done)).isEqualTo(WorkOutcome.DONE);
            assertThat(cluster.node(from).say("CONFIG RESETSTAT")).isEqualTo("+OK");
            cluster.beginToMove(slot + "before", to);

            Future<WorkOutcome> during = threads.submit(() -> lock.run(slot + "during", WorkAttempt::done));
            await().until(() -> cluster.node(from).bulk("INFO errorstats").contains("errorstat_ASK:"));
            cluster.endMove(slot + "before", to);

            assertThat(during.get()).isEqualTo(WorkOutcome.DONE);
            assertThat(unaware.run(slot + "after", WorkAttempt::done)).isEqualTo(WorkOutcome.DONE);
        } finally {
            threads.shutdownNow();
        }
    }

    /** While a connection to it was made, calls to all other nodes waited. */
    @Test
    void aNodeThatStandsStillHoldsUpNoOther() throws Exception {
        List<String> names = oneOnEachNode().subList(0, 2);
        SemaphoreBackend patient = client(cluster.uri(), "detection=1m&timeout=15s");
        names.forEach(name -> patient.admin().create(name, 1));
        List<BackendSession> of =
                names.stream().map(name -> session(patient, name)).toList();
        List<Hold> holds = of.stream().map(Redis::takeOne).toList();
        SemaphoreBackend late = client(cluster.uri(), "detection=1m&timeout=15s");
        assertThat(late.admin().describe(names.get(1))).isPresent();
        FutureTask<HoldState> checking = new FutureTask<>(() -> of.get(0).check(holds.get(0)));
        FutureTask<Boolean> looking =
                new FutureTask<>(() -> late.admin().describe(names.get(0)).isPresent());

        whileStopped(cluster.nodeOf(control(names.get(0))), () -> {
            startToWait(checking);
            startToWait(looking);
            assertThat(of.get(1).renew(holds.subList(1, 2)).lost()).isEmpty();
            assertThat(late.admin().describe(names.get(1))).isPresent();
            assertThat(checking).isNotDone();
            assertThat(looking).isNotDone();
        });
        assertThat(checking.get()).isEqualTo(HoldState.HELD);
        assertThat(looking.get()).isTrue();
    }

    /** The connection for messages led to the node of hash slot 0, whatever was to be heard. */
    @Test
    void aNodeThatStandsStillKeepsNobodyFromListeningAtAnother() {
        String name = oneOnEachNode().stream()
                .filter(one -> cluster.nodeOf(control(one)) == 1)
                .findFirst()
                .orElseThrow();
        SemaphoreBackend patient = client(cluster.uri(), "detection=1m&timeout=15s");
        patient.admin().create(name, 1);
        BackendSession waiting = session(patient, name);
        AtomicInteger hints = new AtomicInteger();
        FutureTask<BackendSession.Watch> watching = new FutureTask<>(() -> waiting.watch(hints::incrementAndGet));

        whileStopped(0, () -> {
            new Thread(watching, "begins to listen").start();
            assertThat(watching).succeedsWithin(Duration.ofSeconds(5));
            String hint = "PUBLISH " + new RedisLayout(prefix, name).channelOfAll() + " " + Ledger.Offer.HINT;
            assertThat(cluster.node(1).say(hint)).isEqualTo(":1");
            await().until(() -> hints.get() > 0);
        });
    }

    /** The connection for messages was opened again to that node as long as nobody else listened. */
    @Test
    void aNodeThatStandsStillKeepsNobodyFromListeningAtAnotherWhoAlsoListensAtThatNode() {
        List<String> names = oneOnEachNode();
        names.sort(Comparator.comparingInt(name -> cluster.nodeOf(control(name))));
        SemaphoreBackend client = client(cluster.uri(), "detection=1m&timeout=1s");
        names.forEach(name -> client.admin().create(name, 1));
        BackendSession waiting = session(client, names.get(1));
        assertThat(session(client, names.get(0)).watch(() -> {})).isNotNull();
        AtomicInteger hints = new AtomicInteger();

        whileStopped(0, () -> {
            // As seldom as the engine tries it.
            await().ignoreExceptions()
                    .pollInterval(Duration.ofSeconds(1))
                    .until(() -> waiting.watch(hints::incrementAndGet) != null);
            String hint = "PUBLISH " + new RedisLayout(prefix, names.get(1)).channelOfAll() + " " + Ledger.Offer.HINT;
            assertThat(cluster.node(1).say(hint)).isEqualTo(":1");
            await().until(() -> hints.get() > 0);
        });
    }

    private static void whileStopped(int node, Runnable task) {
        // Else the others give it up, and stop too, because a part of the slots is missing.
        for (int i = 0; i < 3; i++) {
            assertThat(cluster.node(i).say("CONFIG SET cluster-node-timeout 60000"))
                    .isEqualTo("+OK");
        }
        cluster.node(node).freeze();
        try {
            task.run();
        } finally {
            cluster.node(node).thaw();
        }
    }

    private static void startToWait(FutureTask<?> task) {
        Thread thread = new Thread(task, "waits for a stopped node");
        thread.start();
        await().until(() -> thread.getState() == Thread.State.TIMED_WAITING);
    }

    private SemaphoreBackend client() {
        return client(cluster.uri(), "detection=1m");
    }

    private SemaphoreBackend client(String address, String settings) {
        String uri = address + "?prefix=" + prefix + "&" + settings;
        SemaphoreBackend opened =
                new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test"));
        backends.add(opened);
        return opened;
    }

    private BackendSession session(SemaphoreBackend of, String name) {
        BackendSession session = of.open(name, new Redis.Ear());
        sessions.add(session);
        return session;
    }

    private String control(String name) {
        return new RedisLayout(prefix, name).control();
    }

    /** Names of semaphores, of which each node has one. */
    private List<String> oneOnEachNode() {
        Set<Integer> nodes = new HashSet<>();
        List<String> names = new ArrayList<>();
        for (int i = 0; nodes.size() < 3; i++) {
            if (nodes.add(cluster.nodeOf(control("jobs" + i)))) {
                names.add("jobs" + i);
            }
        }
        return names;
    }

    @Test
    void oneClientUsesSemaphoresOnAllNodes() {
        List<String> names = oneOnEachNode();
        for (String name : names) {
            assertThat(backend.admin().create(name, 1)).isTrue();
            assertThat(backend.admin().create(name, 1)).isFalse();
        }
        assertThat(backend.admin().names()).containsExactlyInAnyOrderElementsOf(names);
        SemaphoreBackend other = client();
        for (String name : names) {
            BackendSession holder = session(backend, name);
            Hold hold = takeOne(holder);
            BackendSession waiting = session(other, name);
            AtomicInteger hints = new AtomicInteger();
            waiting.watch(hints::incrementAndGet);
            assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
            assertThat(holder.renew(List.of(hold)).lost()).isEmpty();
            assertThat(holder.check(hold)).isEqualTo(HoldState.HELD);
            giveBack(holder, hold);
            await().until(() -> hints.get() > 0);
            assertThat(takeOne(waiting).epoch()).isGreaterThan(hold.lastEpoch());
            assertThat(backend.admin().describe(name).orElseThrow().holders()).hasSize(1);
        }
        assertThat(backend.admin().destroy(names.get(0))).isTrue();
        assertThat(backend.admin().names()).containsExactlyInAnyOrderElementsOf(names.subList(1, 3));
    }

    @Test
    void inAClusterOneRightMoreIsEnough() {
        String user = "user" + prefix.hashCode();
        String address = cluster.uri().replace("://", "://" + user + ":pw@");
        allow(user, RightsTest.documented());
        assertThatThrownBy(() -> client(address, "detection=1m").ping()).isInstanceOf(BackendAccessException.class);
        allow(user, "+cluster|slots");
        SemaphoreBackend least = client(address, "detection=1m");
        for (String name : oneOnEachNode()) {
            assertThat(least.admin().create(name, 1)).isTrue();
            takeOne(session(least, name));
        }
    }

    private void allow(String user, String rights) {
        String rule = "ACL SETUSER " + user + " on >pw ~{" + prefix + "* resetchannels &{" + prefix + "* " + rights;
        for (int i = 0; i < 3; i++) {
            assertThat(cluster.node(i).say(rule)).isEqualTo("+OK");
        }
    }

    @Test
    void aSlotThatMovesIsFollowed() throws Exception {
        String name = "moving-" + prefix;
        String key = control(name);
        int to = (cluster.nodeOf(key) + 1) % 3;
        backend.admin().create(name, 3);
        BackendSession session = session(backend, name);
        List<Hold> holds = takeHolds(session, 2);
        cluster.beginToMove(key, to);
        ExecutorService threads = Executors.newCachedThreadPool();
        try {
            Future<ExchangeResult> during = threads.submit(() -> Redis.ask(session, 1));
            cluster.endMove(key, to);
            assertThat(during.get().answers().get(0)).isInstanceOf(Answer.Granted.class);
        } finally {
            threads.shutdownNow();
        }
        assertThat(cluster.node(to).say("EXISTS " + key)).isEqualTo(":1");
        assertThat(session.check(holds.get(0))).isEqualTo(HoldState.HELD);
        assertThat(session.renew(holds).lost()).isEmpty();
        assertThat(giveBack(session, holds.get(0)).lost()).isEmpty();
        Hold next = takeOne(session(client(), name));
        assertThat(next.slot()).isEqualTo(holds.get(0).slot());
        assertThat(next.epoch()).isGreaterThan(holds.get(0).lastEpoch());
        backend.admin().resize(name, 4);
        assertThat(backend.admin().describe(name).orElseThrow().holders()).hasSize(3);
        assertThat(backend.admin().names()).containsExactly(name);
    }

    /** What that is found out on is the connection on which the semaphore was about to be made. */
    @Test
    void aSemaphoreIsMadeAlsoIfTheListOfNamesHasMoved() {
        String list = RedisLayout.names(prefix);
        int from = cluster.nodeOf(list);
        List<String> names = IntStream.iterate(0, i -> i + 1)
                .mapToObj(i -> "listed" + i)
                .filter(name -> cluster.nodeOf(control(name)) == from)
                .limit(2)
                .toList();
        assertThat(backend.admin().create(names.get(0), 1)).isTrue();
        cluster.beginToMove(list, (from + 1) % 3);
        cluster.endMove(list, (from + 1) % 3);

        assertThat(backend.admin().create(names.get(1), 1)).isTrue();
        assertThat(backend.admin().names()).containsExactlyInAnyOrderElementsOf(names);
    }

    /** Each try knew the new place of one name more, and asked for the others where that one was. */
    @Test
    void allNamesAreListedAfterSeveralSlotsMoved() {
        List<String> names = IntStream.iterate(0, i -> i + 1)
                .mapToObj(i -> "moves" + i)
                .filter(name -> cluster.nodeOf(control(name)) == 0)
                .limit(5)
                .toList();
        names.forEach(name -> backend.admin().create(name, 1));
        assertThat(backend.admin().names()).containsExactlyInAnyOrderElementsOf(names);
        for (int i = 0; i < 4; i++) {
            cluster.beginToMove(control(names.get(i)), 1 + i % 2);
            cluster.endMove(control(names.get(i)), 1 + i % 2);
        }

        assertThat(backend.admin().names()).containsExactlyInAnyOrderElementsOf(names);
    }
}
