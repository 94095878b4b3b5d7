package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.take;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A master whose replica takes over: what survives, what does not, and what waiting for the replica buys. */
class ReplicationTest {
    private static final String PREFIX = "replicated";

    private RedisServer master;
    private RedisServer replica;
    private Relay replication;
    private Relay clients;
    private Redis atMaster;
    private Redis atReplica;
    private boolean failedOver;
    private final List<AutoCloseable> open = new ArrayList<>();

    @BeforeEach
    void open() {
        master = RedisServer.start("--repl-diskless-sync-delay", "0");
        replication = new Relay(master.uri());
        replica = RedisServer.start("--replicaof", "127.0.0.1", Integer.toString(replication.port()));
        clients = new Relay(master.uri());
        atMaster = new Redis(master.uri());
        atReplica = new Redis(replica.uri());
        await().atMost(Duration.ofSeconds(60)).until(this::isReplicated);
    }

    @AfterEach
    void close() throws Exception {
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
        if (!failedOver) {
            atMaster.close();
        }
        atReplica.close();
        clients.close();
        replication.close();
        replica.close();
        master.close();
    }

    /** A client that finds its server where the relay leads. */
    private SemaphoreBackend backend(String... settings) {
        List<String> all = new ArrayList<>(List.of(settings));
        if (all.stream().noneMatch(setting -> setting.startsWith("detection="))) {
            all.add("detection=1m");
        }
        String uri = clients.uri() + "?prefix=" + PREFIX + "&" + String.join("&", all);
        SemaphoreBackend backend =
                new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test"));
        open.add(backend);
        backend.admin().create("jobs", 1);
        return backend;
    }

    private BackendSession session(String... settings) {
        SemaphoreBackend backend = backend(settings);
        BackendSession session = backend.open("jobs", new Redis.Ear());
        open.add(session);
        return session;
    }

    /** Whether the replica has everything that was written before. */
    private boolean isReplicated() {
        // It tells of what the same connection has written.
        atMaster.commands().set("marker", "written");
        return atMaster.commands().waitForReplication(1, 10_000) == 1;
    }

    private void stallReplication() {
        assertThat(isReplicated()).isTrue();
        replication.loseReplies();
    }

    private void failOver() {
        failedOver = true;
        atMaster.close();
        master.kill();
        atReplica.commands().replicaofNoOne();
        clients.redirect(replica.uri());
    }

    private static long held(Redis at) {
        return StoredState.of(at.commands(), new RedisLayout(PREFIX, "jobs")).held();
    }

    @Test
    void aHolderThatTheReplicaKnowsHoldsOnAndEpochsRise() {
        BackendSession session = session();
        Hold hold = takeOne(session);
        assertThat(isReplicated()).isTrue();
        failOver();

        await().ignoreExceptions().until(() -> session.check(hold) == HoldState.HELD);
        BackendSession other = session();
        assertThat(take(other, 1)).isEqualTo(Answer.FULL);
        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(takeOne(other).epoch()).isGreaterThan(hold.lastEpoch());
    }

    @Test
    void aGrantThatTheReplicaLacksIsLostAndTheNextEpochIsHigher() {
        BackendSession session = session();
        giveBack(session, takeOne(session));
        stallReplication();
        Hold hold = takeOne(session);
        failOver();

        BackendSession other = session();
        Hold next = takeOne(other);
        assertThat(next.slot()).isEqualTo(hold.slot());
        assertThat(next.epoch()).isGreaterThan(hold.lastEpoch());
        await().ignoreExceptions()
                .until(() -> session.renew(List.of(hold)).lost().contains(hold));
        assertThat(giveBack(session, hold).lost()).containsExactly(hold);
        assertThat(other.check(next)).isEqualTo(HoldState.HELD);
    }

    @Test
    void aReleaseThatTheReplicaLacksIsDoneAgain() {
        BackendSession session = session();
        Hold hold = takeOne(session);
        stallReplication();
        giveBack(session, hold);
        failOver();

        assertThat(held(atReplica)).isEqualTo(1);
        await().ignoreExceptions().until(() -> take(session, 1) instanceof Answer.Granted);
        assertThat(takenBy(session)).hasSize(1);
    }

    @Test
    void aReleaseThatIsDoneAgainGivesNobodyAnEpochThatWasUsed() throws Exception {
        BackendSession first = session();
        Hold hold = takeOne(first);
        stallReplication();
        giveBack(first, hold);
        Hold second = takeOne(session());
        assertThat(second.slot()).isEqualTo(hold.slot());
        failOver();

        BackendSession waiting = session("handOver=true");
        ExchangeRequest one = new ExchangeRequest(List.of(), List.of(1), 1, true);
        CompletableFuture<Hold> taken = new CompletableFuture<>();
        assertThat(waiting.exchange(one).answers()).containsExactly(Answer.FULL);
        BackendSession.Watch watch = waiting.watch(() -> {
            CompletionStage<ExchangeResult> stage = waiting.start(one);
            if (stage != null) {
                Future<?> unused = stage.toCompletableFuture().thenAccept(result -> {
                    if (result.answers().get(0) instanceof Answer.Granted granted) {
                        taken.complete(granted.holds().get(0));
                    }
                });
            }
        });
        assertThat(waiting.exchange(one).answers()).containsExactly(Answer.FULL);
        ExchangeRequest nothing = new ExchangeRequest(List.of(), List.of(), 1, false);
        await().ignoreExceptions().until(() -> first.exchange(nothing) != null);

        assertThat(taken.get(10, TimeUnit.SECONDS).epoch()).isGreaterThan(second.lastEpoch());
        watch.close();
    }

    /** It is the same process all the while, and its data is that of the replica. */
    @Test
    void aMasterThatLeadsAgainGivesOutNoEpochTwice() {
        BackendSession session = session();
        giveBack(session, takeOne(session));
        stallReplication();
        Hold hold = takeOne(session);
        atReplica.commands().replicaofNoOne();
        atMaster.commands().replicaof("127.0.0.1", replica.port());
        await().atMost(Duration.ofSeconds(60))
                .until(() -> atMaster.commands().info("replication").contains("master_link_status:up"));
        atMaster.commands().replicaofNoOne();

        Hold next = takeOne(session());
        assertThat(next.slot()).isEqualTo(hold.slot());
        assertThat(next.epoch()).isGreaterThan(hold.lastEpoch());
    }

    private static List<Hold> takenBy(BackendSession session) {
        return List.copyOf(((RedisSession) session).holds());
    }

    @Test
    void aGrantThatIsWaitedForIsWithTheReplica() {
        BackendSession session = session("minReplicas=1");
        Hold hold = takeOne(session);
        assertThat(held(atReplica)).isEqualTo(1);
        assertThat(session.renew(List.of(hold)).lost()).isEmpty();
    }

    /** The client that hands the slot over does not wait for the replicas that the other one needs. */
    @Test
    void whoNeedsReplicasTakesNoSlotThatIsHandedOver() {
        takeOne(session());
        BackendSession waiting = session("minReplicas=1", "handOver=true");
        assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
        BackendSession.Watch watch = waiting.watch(() -> {});
        assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
        double score = atMaster.commands()
                .zrangeWithScores(new RedisLayout(PREFIX, "jobs").waiters(), 0, 0)
                .get(0)
                .getScore();
        assertThat((long) score & 1).as("hints only").isEqualTo(1);
        watch.close();
    }

    @Test
    void aGrantThatTheReplicaDoesNotConfirmIsNone() {
        BackendSession session = session("minReplicas=1");
        Hold hold = takeOne(session);
        giveBack(session, hold);
        Hold again = takeOne(session);
        stallReplication();
        ExchangeRequest swap = new ExchangeRequest(List.of(again), List.of(1), 1, false);
        assertThatThrownBy(() -> session.exchange(swap))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("0 of the 1 replicas")
                .hasMessageContaining("minReplicas");

        assertThat(held(atMaster)).isZero();
        assertThat(giveBack(session, again).lost()).as("it was given back").isEmpty();
        assertThatThrownBy(() -> session.renew(List.of())).isInstanceOf(BackendUnavailableException.class);
        replication.redirect(master.uri());
        await().atMost(Duration.ofSeconds(60))
                .ignoreExceptions()
                .until(() -> takeHolds(session, 1).size() == 1);
        assertThat(held(atReplica)).isEqualTo(1);
    }

    @Test
    void aGrantWhoseReplyIsLostIsConfirmedBeforeItCounts() {
        BackendSession session = session("minReplicas=1");
        giveBack(session, takeOne(session));
        stallReplication();
        ExchangeRequest one = new ExchangeRequest(List.of(), List.of(1), 1, false);
        clients.loseReplies();
        assertThatThrownBy(() -> session.exchange(one)).hasMessageContaining("not known");
        assertThatThrownBy(() -> session.resolve(one))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("minReplicas");
        replication.redirect(master.uri());
        await().atMost(Duration.ofSeconds(60))
                .ignoreExceptions()
                .until(() -> session.resolve(one).answers().get(0) instanceof Answer.Granted);
        assertThat(held(atReplica)).isEqualTo(1);
    }

    /** From 7.2 on WAIT returns at once on a connection that has written nothing. */
    @Test
    void afterALostReplySomethingIsWrittenOnTheConnectionOnWhichReplicasConfirm() throws Exception {
        BackendSession session = session("minReplicas=1");
        giveBack(session, takeOne(session));
        clients.loseReplies();
        ExchangeRequest one = new ExchangeRequest(List.of(), List.of(1), 1, false);
        assertThatThrownBy(() -> session.exchange(one)).isInstanceOf(OutcomeUnknownException.class);
        try (BufferedReader lines = monitor()) {
            assertThat(session.resolve(one).answers().get(0)).isInstanceOf(Answer.Granted.class);

            assertThat(commandBefore("WAIT", lines)).isEqualTo("ZADD");
        }
    }

    /** Or else a permit is valid for longer than a replica knows that takes over. */
    @Test
    void theRenewalThatFollowsAFirstGrantAfterALateAnswerIsConfirmedToo() throws Exception {
        BackendSession session = session("minReplicas=1", "detection=2s", "timeout=10s");
        CountDownLatch answered = clients.holdReplyTo("ZSCORE");
        CompletableFuture<Hold> taken = CompletableFuture.supplyAsync(() -> takeOne(session));
        assertThat(answered.await(60, TimeUnit.SECONDS)).isTrue();
        try (BufferedReader lines = monitor()) {
            await().pollDelay(Duration.ofMillis(900)).until(() -> true);
            clients.bringReply();
            assertThat(taken.get(60, TimeUnit.SECONDS)).isNotNull();
            atMaster.commands().echo("over");

            assertThat(commandsAfterLast("GT", lines)).contains("EXEC", "WAIT");
        }
    }

    /** What the master is sent from now on, a line each. */
    private BufferedReader monitor() throws IOException {
        Socket monitor = new Socket(InetAddress.getLoopbackAddress(), master.port());
        monitor.setSoTimeout(10_000);
        monitor.getOutputStream().write("MONITOR\r\n".getBytes(StandardCharsets.US_ASCII));
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(monitor.getInputStream(), StandardCharsets.US_ASCII));
        assertThat(lines.readLine()).isEqualTo("+OK");
        return lines;
    }

    /** Which commands came after the last one with this argument, on the same connection and before somebody sent ECHO. */
    private static List<String> commandsAfterLast(String argument, BufferedReader lines) throws IOException {
        String connection = "";
        List<String> after = new ArrayList<>();
        for (String line = lines.readLine(); !line.contains("\"ECHO\""); line = lines.readLine()) {
            String[] parts = line.split("[\\[\\]\"]", 5);
            if (line.contains("\"" + argument + "\"")) {
                connection = parts[1];
                after.clear();
            } else if (parts[1].equals(connection)) {
                after.add(parts[3]);
            }
        }
        return after;
    }

    /** Which command came last on the connection on which this one comes, as MONITOR tells it. */
    private static String commandBefore(String command, BufferedReader lines) throws IOException {
        Map<String, String> last = new HashMap<>();
        while (true) {
            // +1764321000.123456 [0 127.0.0.1:40000] "WAIT" "1" "1000"
            String[] parts = lines.readLine().split("[\\[\\]\"]", 5);
            if (parts[3].equals(command)) {
                return last.get(parts[1]);
            }
            last.put(parts[1], parts[3]);
        }
    }

    @Test
    void aLimitThatTheReplicaDoesNotConfirmIsNotPromised() {
        BackendAdmin admin = backend("minReplicas=1").admin();
        stallReplication();
        assertThatThrownBy(() -> admin.resize("jobs", 2))
                .isInstanceOf(OutcomeUnknownException.class)
                .hasMessageContaining("0 of the 1 replicas")
                .hasMessageContaining("repeat it");
        assertThatThrownBy(() -> admin.create("others", 3)).isInstanceOf(OutcomeUnknownException.class);
        // It is there by now, and no replica has it.
        assertThatThrownBy(() -> admin.create("others", 3)).isInstanceOf(OutcomeUnknownException.class);
        assertThatThrownBy(() -> admin.destroy("jobs")).isInstanceOf(OutcomeUnknownException.class);

        replication.redirect(master.uri());
        await().atMost(Duration.ofSeconds(60)).ignoreExceptions().until(() -> admin.create("jobs", 4));
        failOver();
        await().atMost(Duration.ofSeconds(60))
                .ignoreExceptions()
                .until(() -> admin.describe("jobs").orElseThrow().limit() == 4);
    }
}
