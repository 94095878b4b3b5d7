package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.giveBack;
import static io.github.distributedsemaphore.consul.Consul.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What becomes of permits whose watch fails. */
class GraceTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final ConsulServer server = ConsulServer.shared();
    private final TcpProxy proxy = new TcpProxy(new InetSocketAddress(server.host(), server.port()));
    private final String name = Consul.uniqueName();
    private final Consul.Losses losses = new Consul.Losses();

    @AfterEach
    void close() {
        proxy.close();
        server.deleteBelow(name);
    }

    private SemaphoreBackend open(String setting) {
        SemaphoreBackend backend =
                Consul.openAt("consul://127.0.0.1:" + proxy.address().getPort() + "?detection=60s" + setting);
        backend.admin().create(name, 3);
        return backend;
    }

    /** The watch has a connection besides that of the requests. */
    private void awaitWatch() {
        await("the watch is open").atMost(PATIENCE).until(() -> proxy.openConnections() >= 2);
    }

    @Test
    void theStrictReadingOfTheGuideEndsAPermitWhenItsWatchFails() {
        try (SemaphoreBackend backend = open("&grace=0s");
                BackendSession session = backend.open(name, losses)) {
            Hold hold = takeOne(session);
            awaitWatch();
            assertThat(losses.holds).isEmpty();
            proxy.cut(Ending.RESET);
            await().atMost(PATIENCE).until(() -> losses.holds.contains(hold));
            assertThat(session.check(hold)).isEqualTo(HoldState.LOST);
            await("its slot is given back")
                    .atMost(PATIENCE)
                    .until(() -> server.holders(name).stream()
                            .noneMatch(id -> server.keys().contains(name + "/" + id)));
        }
    }

    @Test
    void aWatchThatFailsForLongerThanTheGraceEndsThePermit() {
        try (SemaphoreBackend backend = open("&grace=1s");
                BackendSession session = backend.open(name, losses)) {
            Hold hold = takeOne(session);
            awaitWatch();
            LinkFault refusal = proxy.refuse();
            long cut = System.nanoTime();
            proxy.cut(Ending.RESET);
            await().atMost(PATIENCE).until(() -> losses.holds.contains(hold));
            assertThat(Duration.ofNanos(System.nanoTime() - cut)).isGreaterThanOrEqualTo(Duration.ofSeconds(1));
            refusal.close();
        }
    }

    @Test
    void aWatchThatWorksAgainInTimeCostsNothing() {
        for (String setting : List.of("", "&grace=4s")) {
            try (SemaphoreBackend backend = open(setting);
                    BackendSession session = backend.open(name, losses)) {
                Hold hold = takeOne(session);
                awaitWatch();
                long cut = System.nanoTime();
                proxy.cut(Ending.RESET);
                await("the permit is confirmed")
                        .atMost(PATIENCE)
                        .ignoreExceptionsInstanceOf(BackendUnavailableException.class)
                        .until(() -> session.check(hold) == HoldState.HELD);
                awaitWatch();
                await("the grace is over")
                        .until(() -> System.nanoTime() - cut
                                > Duration.ofMillis(4_100).toNanos());
                assertThat(session.renew(List.of(hold)).lost()).isEmpty();
                assertThat(losses.holds).isEmpty();
            }
        }
    }

    @Test
    void aWatchThatNobodyNeededAnyMoreHasNotFailedSince() throws Exception {
        create();
        try (ConsulHttp operations = http(server.address(), Duration.ofSeconds(4), 2);
                ConsulHttp watches = http(proxyAddress(), ConsulBackend.WATCH_ANSWER, 2);
                BackendSession session =
                        new ConsulSession(operations, watches, settings(server.address(), "1s"), name, losses);
                LinkFault refusal = proxy.refuse()) {
            BackendSession.Watch watch = session.watch(() -> {});
            await("it fails").atMost(PATIENCE).until(() -> refusal.strikes() > 0);
            long failed = System.nanoTime();
            watch.close();
            await("it ends").atMost(PATIENCE).until(() -> !isWatching());
            await("the grace would be over")
                    .until(() -> System.nanoTime() - failed
                            > Duration.ofMillis(1_100).toNanos());
            long taken = System.nanoTime();
            Hold hold = takeOne(session);
            await().atMost(PATIENCE).until(() -> losses.holds.contains(hold));
            assertThat(Duration.ofNanos(System.nanoTime() - taken)).isGreaterThanOrEqualTo(Duration.ofSeconds(1));
        }
    }

    /** As something that stands between: it answers every query at once. */
    @Test
    void answersThatAreNotConsulsDoNotBeginTheGraceAnew() throws Exception {
        create();
        try (StubServer stub = StubServer.answering("a page");
                ConsulHttp operations = http(server.address(), Duration.ofSeconds(4), 2);
                ConsulHttp watches = http(stub.address(), ConsulBackend.WATCH_ANSWER, 2);
                BackendSession session =
                        new ConsulSession(operations, watches, settings(server.address(), "1s"), name, losses)) {
            Hold hold = takeOne(session);
            await().atMost(PATIENCE).until(() -> losses.holds.contains(hold));
        }
    }

    /** As of a server that is behind: only what is read afresh says that a hold is lost. */
    @Test
    void aWatchThatIsBehindMakesNoReleaseALoss() throws Exception {
        create();
        String before = server.send("GET", "/v1/kv/" + name + "/?recurse", "").body();
        try (StubServer behind = StubServer.answering(before);
                BrokenLink link = new BrokenLink(server.address());
                ConsulHttp operations = http(link.address(), Duration.ofSeconds(1), 2);
                ConsulHttp watches = http(behind.address(), ConsulBackend.WATCH_ANSWER, 2);
                BackendSession session =
                        new ConsulSession(operations, watches, settings(server.address()), name, losses)) {
            Hold hold = takeOne(session);
            // So that it looks without a pause.
            try (BackendSession.Watch watch = session.watch(() -> {})) {
                assertThat(watch).isNotNull();
                link.loseRequestsTo("PUT /v1/txn");
                assertThatThrownBy(() -> takeOne(session)).isInstanceOf(SemaphoreException.class);
                link.loseRequestsTo(null);
                int looks = behind.requests().size();
                await("another look")
                        .pollInterval(Duration.ofMillis(1))
                        .atMost(PATIENCE)
                        .until(() -> behind.requests().size() > looks + 3);
                assertThat(giveBack(session, hold).lost()).isEmpty();
            }
            assertThat(server.get(name + "/.lock")).doesNotContain("true");
        }
    }

    @Test
    void aLossThatTheWatchHasNotSeenIsToldBesideTheReleaseOfAnotherHold() {
        for (int lostAnswers : new int[] {0, 1}) {
            create();
            try (StubServer silent = StubServer.silent();
                    BrokenLink link = new BrokenLink(server.address());
                    ConsulHttp operations = http(link.address(), Duration.ofSeconds(4), 2);
                    ConsulHttp watches = http(silent.address(), ConsulBackend.WATCH_ANSWER, 2);
                    BackendSession session =
                            new ConsulSession(operations, watches, settings(server.address()), name, losses)) {
                Hold kept = takeOne(session);
                String id = server.holders(name).get(0);
                Hold lost = takeOne(session);
                server.put(name + "/.lock", "{\"Limit\":3,\"Holders\":{\"" + id + "\":true}}");
                // So that the answer to a conflict is none of those that are lost.
                Hold after = takeOne(session);
                link.loseAnswers(lostAnswers);
                assertThat(giveBack(session, kept, lost, after).lost())
                        .as("lost answers: " + lostAnswers)
                        .containsExactly(lost);
                assertThat(server.get(name + "/.lock")).doesNotContain("true");
            }
        }
    }

    /** As something that stands between and does not wait: the answers come at once, and all have one index. */
    @Test
    void answersThatComeAtOnceAreNotAskedForAgainAtOnce() {
        long start = System.nanoTime();
        try (StubServer stub = StubServer.answering("[]");
                ConsulHttp watches = http(stub.address(), ConsulBackend.WATCH_ANSWER, 2)) {
            PrefixFollower follower = new PrefixFollower(watches, name, "test-follower", (reply, changed) -> {});
            follower.wake();
            await().atMost(PATIENCE).until(() -> stub.requests().size() > 20);
            follower.stop();
        }
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(1500));
    }

    @Test
    void anAnswerThatIsNotConsulsEndsNoSession() {
        try (StubServer stub = StubServer.answering("a page");
                ConsulHttp operations = http(stub.address(), Duration.ofSeconds(4), 2)) {
            SessionCalls.SideBySide sideBySide = new SessionCalls.SideBySide(Runnable::run);
            SessionCalls calls = new SessionCalls(operations, name, name, settings(stub.address()), sideBySide);
            assertThat(calls.destroy("3f1b", operations.end())).isFalse();
        }
    }

    @Test
    void anAnswerThatDoesNotNameTheSessionRenewsNothing() {
        try (StubServer stub = StubServer.answering("a page");
                ConsulHttp operations = http(stub.address(), Duration.ofSeconds(4), 2)) {
            SessionCalls.SideBySide sideBySide = new SessionCalls.SideBySide(Runnable::run);
            SessionCalls calls = new SessionCalls(operations, name, name, settings(stub.address()), sideBySide);
            SessionPool.SlotSession session = new SessionPool.SlotSession("3f1b", 0);
            assertThatThrownBy(() -> calls.renew(session, operations.end()))
                    .isInstanceOf(BackendUnavailableException.class);
            assertThat(session.confirmedNanos()).isZero();
        }
    }

    /** Such as that of a gateway during maintenance. Consul answers every transaction with results, though they may be none. */
    @Test
    void anAnswerWithoutResultsDoesNotSayThatATransactionWasDone() {
        try (StubServer stub = StubServer.answering("{\"status\":\"maintenance\"}");
                ConsulHttp operations = http(stub.address(), Duration.ofSeconds(4), 2)) {
            Transaction.Outcome outcome = new Transaction().delete(name).send(operations, operations.end());
            assertThat(outcome.status()).isEqualTo(Transaction.Status.UNKNOWN);
        }
    }

    /** Or else its slot would stay taken for up to twice the time to live. */
    @Test
    void aSessionWhoseEndWasNotConfirmedEndsByTheClose() {
        create();
        try (StubServer silent = StubServer.silent();
                BrokenLink link = new BrokenLink(server.address());
                ConsulHttp operations = http(link.address(), Duration.ofSeconds(1), 2);
                ConsulHttp watches = http(silent.address(), ConsulBackend.WATCH_ANSWER, 2)) {
            BackendSession session =
                    new ConsulSession(operations, watches, settings(link.address(), "none"), name, losses);
            Hold hold = takeOne(session);
            String entry = name + "/" + server.holders(name).get(0);
            server.put(name + "/.lock", "garbage");
            link.loseRequestsTo("PUT /v1/session/destroy");
            assertThatThrownBy(() -> giveBack(session, hold)).isInstanceOf(OutcomeUnknownException.class);
            assertThat(server.keys()).contains(entry);
            link.loseRequestsTo(null);
            session.close();
            assertThat(server.keys()).doesNotContain(entry);
        }
    }

    private boolean isWatching() {
        return Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().equals("semaphore-consul-watch " + name));
    }

    private static ConsulHttp http(String address, Duration longest, int connections) {
        return settings(address).http(longest, connections);
    }

    private static ConsulSettings settings(String address) {
        return settings(address, "0s");
    }

    private static ConsulSettings settings(String address, String grace) {
        return ConsulSettings.from(
                BackendUri.parse("consul://" + address + "?grace=" + grace), HolderInfo.ofThisProcess("test"));
    }

    private String proxyAddress() {
        return "127.0.0.1:" + proxy.address().getPort();
    }

    private void create() {
        try (SemaphoreBackend backend = Consul.open()) {
            backend.admin().create(name, 3);
        }
    }

    @Test
    void aWatchThatWaitsForAConnectionHasNotFailed() throws Exception {
        create();
        Duration longest = Duration.ofMillis(500);
        ExecutorService other = Executors.newSingleThreadExecutor();
        try (ConsulHttp operations = http(server.address(), Duration.ofSeconds(4), 2);
                ConsulHttp watches = http(proxyAddress(), longest, 1);
                BackendSession session =
                        new ConsulSession(operations, watches, settings(server.address()), name, losses)) {
            String index = "index="
                    + operations
                            .get(operations.end(), "/v1/kv/" + name + "/.semaphore")
                            .index();
            Future<ConsulHttp.Reply> query = other.submit(() ->
                    watches.get(Deadline.after(System.nanoTime(), PATIENCE), "/v1/kv/" + name + "/.semaphore", index));
            await("the only connection is in use").until(() -> proxy.openConnections() == 1);
            takeOne(session);
            long start = System.nanoTime();
            await("the watch has waited for longer than it may")
                    .until(() -> System.nanoTime() - start > 3 * longest.toNanos());
            assertThat(losses.holds).isEmpty();
            assertThat(query).isNotDone();
        } finally {
            other.shutdownNow();
        }
    }

    @Test
    void aPlaceThatCannotBeMadeIsNoFailureOfTheWatch() {
        create();
        AtomicInteger hints = new AtomicInteger();
        try (ConsulHttp operations = http(proxyAddress(), Duration.ofSeconds(4), 2);
                ConsulHttp watches = http(server.address(), ConsulBackend.WATCH_ANSWER, 2);
                BackendSession session =
                        new ConsulSession(operations, watches, settings(server.address()), name, losses)) {
            takeOne(session);
            try (LinkFault refusal = proxy.refuse()) {
                proxy.cut(Ending.RESET);
                BackendSession.Watch watch = session.watch(hints::incrementAndGet);
                for (int looks = 1; looks <= 3; looks++) {
                    int wanted = looks;
                    server.put(name + "/else", "change " + looks);
                    await("a look").until(() -> hints.get() >= wanted);
                }
                assertThat(refusal.strikes()).isPositive();
                assertThat(losses.holds).isEmpty();
                watch.close();
            }
        }
    }
}
