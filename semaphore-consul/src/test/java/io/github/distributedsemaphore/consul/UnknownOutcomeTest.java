package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.giveBack;
import static io.github.distributedsemaphore.consul.Consul.take;
import static io.github.distributedsemaphore.consul.Consul.takeHolds;
import static io.github.distributedsemaphore.consul.Consul.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.consul.PrefixView.Contender;
import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.Ending;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What an exchange makes of answers that do not come. */
class UnknownOutcomeTest {
    private final ConsulServer server = ConsulServer.shared();
    private final BrokenLink link = new BrokenLink(server.address());
    private final String name = Consul.uniqueName();
    private SemaphoreBackend backend;
    private BackendSession session;

    @BeforeEach
    void open() {
        backend = Consul.openAt("consul://" + link.address());
        backend.admin().create(name, 3);
        session = backend.open(name, new Consul.Losses());
    }

    @AfterEach
    void close() {
        session.close();
        backend.close();
        link.close();
        server.deleteBelow(name);
    }

    private int free() {
        return backend.admin().describe(name).orElseThrow().free();
    }

    @Test
    void aGrantWhoseAnswerIsLostIsFoundAndNotTakenTwice() {
        link.loseAnswers(1);
        Hold hold = takeOne(session);
        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
        assertThat(free()).isEqualTo(2);
        assertThat(hold.epoch() / ExchangePlan.EPOCHS).isPositive();
        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(free()).isEqualTo(3);
    }

    @Test
    void aRequestThatIsLostIsSentAgain() {
        link.loseRequests(2);
        Hold hold = takeOne(session);
        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
        assertThat(free()).isEqualTo(2);
    }

    @Test
    void aReleaseWhoseAnswerIsLostIsNoLoss() {
        Hold hold = takeOne(session);
        link.loseAnswers(1);
        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(free()).isEqualTo(3);
        link.loseRequests(1);
        assertThat(giveBack(session, takeOne(session)).lost()).isEmpty();
        assertThat(free()).isEqualTo(3);
    }

    /** A server, or what stands before it, may fail after it has done what it was asked for. */
    @Test
    void whatIsDoneAndAnsweredWithAnErrorIsFound() {
        link.spoilAnswers(1);
        Hold hold = takeOne(session);
        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
        link.spoilAnswers(1);
        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(free()).isEqualTo(3);
    }

    @Test
    void manyLossesLeaveNeitherHoldsNorGapsBehind() {
        for (int i = 0; i < 30; i++) {
            link.loseAnswers(i % 3);
            link.loseRequests(i % 2);
            Hold hold = takeOne(session);
            link.loseAnswers((i + 1) % 3);
            assertThat(giveBack(session, hold).lost()).isEmpty();
        }
        link.loseAnswers(0);
        link.loseRequests(0);
        assertThat(takeHolds(session, 3)).extracting(Hold::slot).containsExactly(1, 2, 3);
    }

    @Test
    void withoutALinkNothingIsDoneOrTheOutcomeIsUnknown() {
        Hold hold = takeOne(session);
        link.close();
        assertThatThrownBy(() -> take(session, 1))
                .isInstanceOfAny(BackendUnavailableException.class, OutcomeUnknownException.class);
        assertThatThrownBy(() -> session.check(hold)).isInstanceOf(BackendUnavailableException.class);
        assertThat(server.holders(name)).hasSizeBetween(1, 2);
    }

    @Test
    void aFullSemaphoreStaysFullThroughLosses() {
        takeHolds(session, 3);
        link.loseAnswers(1);
        assertThat(take(session, 1)).isEqualTo(Answer.FULL);
    }

    /** Finding out is broken off too, and what it had begun is found out: the answers are those of the first request. */
    @Test
    void findingOutWhatWasBrokenOffStillAnswersEveryWant() throws Exception {
        try (TcpProxy proxy = new TcpProxy(new InetSocketAddress(server.host(), server.port()));
                SemaphoreBackend cut =
                        Consul.openAt("consul://127.0.0.1:" + proxy.address().getPort() + "?timeout=2s");
                BackendSession lonely = cut.open(name, new Consul.Losses())) {
            // Sessions for the two that are wanted are there, so that nothing but the transaction is sent.
            List<Hold> first = takeHolds(lonely, 3);
            Hold held = first.get(0);
            giveBack(lonely, first.get(1), first.get(2));
            ExchangeRequest swap = new ExchangeRequest(List.of(held), List.of(1, 1), 1, false);
            try (LinkFault loss = proxy.lose()) {
                assertThatThrownBy(() -> lonely.exchange(swap)).isInstanceOf(OutcomeUnknownException.class);
                assertThat(loss.strikes()).isPositive();
                Hold rivals = takeOne(session);
                assertThat(rivals.slot()).isEqualTo(2);
            }
            assertThatThrownBy(() -> resolveWhileTheLinkBreaksAgain(proxy, lonely, swap))
                    .isInstanceOfAny(OutcomeUnknownException.class, BackendUnavailableException.class);

            ExchangeResult result = lonely.resolve(swap);
            assertThat(result.answers()).containsExactly(Answer.NOT_DONE, Answer.NOT_DONE);
            assertThat(result.lost()).isEmpty();
            assertThat(free()).isEqualTo(2);
        }
    }

    /** Each of the sessions of a plan that was not done has to be ended, and a call has no time for that many one after the other. */
    @Test
    void findingOutEndsHoweverManySlotsWereWanted() throws Exception {
        int permits = 100;
        backend.admin().resize(name, permits);
        try (TcpProxy proxy = new TcpProxy(new InetSocketAddress(server.host(), server.port()));
                SemaphoreBackend cut =
                        Consul.openAt("consul://127.0.0.1:" + proxy.address().getPort() + "?timeout=1s");
                BackendSession lonely = cut.open(name, new Consul.Losses())) {
            giveBack(lonely, takeHolds(lonely, permits).toArray(Hold[]::new));
            ExchangeRequest request = new ExchangeRequest(List.of(), List.of(permits), 1, false);
            try (LinkFault loss = proxy.lose()) {
                assertThatThrownBy(() -> lonely.exchange(request)).isInstanceOf(OutcomeUnknownException.class);
                assertThat(loss.strikes()).isPositive();
                takeOne(session);
            }
            try (LinkFault slow =
                    proxy.delay(Duration.ofMillis(30), Duration.ofMillis(31), new Random(1), Direction.ANSWERS)) {
                assertThat(slow).isNotNull();
                await("it is found out").pollInterval(Duration.ZERO).until(() -> isResolved(lonely, request));
            }
        }
    }

    private static boolean isResolved(BackendSession session, ExchangeRequest request) {
        try {
            return session.resolve(request).answers().equals(List.of(Answer.NOT_DONE));
        } catch (OutcomeUnknownException | BackendUnavailableException e) {
            return false;
        }
    }

    private static void resolveWhileTheLinkBreaksAgain(TcpProxy proxy, BackendSession session, ExchangeRequest swap) {
        CompletableFuture<LinkFault> cut = new CompletableFuture<>();
        try (LinkFault answer = proxy.loseAnswerTo("PUT /v1/txn", Ending.SILENCE)) {
            Thread breaker = new Thread(() -> {
                await().pollInterval(Duration.ofMillis(5)).until(() -> answer.strikes() > 0);
                cut.complete(proxy.lose());
            });
            breaker.start();
            session.resolve(swap);
        } finally {
            cut.join().close();
        }
    }

    /** A client that stops waiting deletes its entry. The request comes late, when the session might hold a slot. */
    @Test
    void aPlaceThatIsLeftLateIsNotThatOfASlotTakenMeanwhile() throws Exception {
        try (SemaphoreBackend hasty = Consul.openAt("consul://" + link.address() + "?timeout=1s");
                BackendSession client = hasty.open(name, new Consul.Losses())) {
            BackendSession.Watch watch = client.watch(() -> {});
            await("its place").until(this::hasPlace);
            BrokenLink.LateRequest late = link.hold("\"Verb\":\"delete\"");
            watch.close();
            late.awaitGivenUp();
            assertSlotIsKeptThrough(late, client);
        }
    }

    /** A client that begins to wait writes an entry. The request comes late, when the session might hold a slot. */
    @Test
    void aPlaceThatIsMadeLateIsNotThatOfASlotTakenMeanwhile() throws Exception {
        try (SemaphoreBackend hasty = Consul.openAt("consul://" + link.address() + "?timeout=1s");
                BackendSession client = hasty.open(name, new Consul.Losses())) {
            BrokenLink.LateRequest late = link.hold(inBody(Contender.waitingValue(1)));
            BackendSession.Watch watch = client.watch(() -> {});
            late.awaitGivenUp();
            assertSlotIsKeptThrough(late, client);
            watch.close();
        }
    }

    /** More slots than fit into one transaction: what writes the first entries comes late, when they belong to the holds. */
    @Test
    void anEntryThatIsWrittenLateIsNotThatOfASlotTakenMeanwhile() throws Exception {
        int permits = Transaction.MAX_OPERATIONS - 2;
        backend.admin().resize(name, permits);
        BrokenLink.LateRequest late = link.hold(inBody("{\"Slot\":1"));
        takeHolds(session, permits);
        late.awaitGivenUp();
        List<Holder> granted = backend.admin().describe(name).orElseThrow().holders();
        late.letGo();
        assertThat(backend.admin().describe(name).orElseThrow().holders()).isEqualTo(granted);
    }

    /** The request does not reach the server, and meanwhile another client changes the list. */
    @Test
    void aReleaseIsToldOnlyIfTheSlotIsFree() throws Exception {
        try (SemaphoreBackend hasty = Consul.openAt("consul://" + link.address() + "?timeout=2s");
                BackendSession client = hasty.open(name, new Consul.Losses())) {
            Hold hold = takeOne(client);
            BrokenLink.LateRequest late = link.hold("\"Verb\":\"cas\"");
            CompletableFuture<ExchangeResult> release = CompletableFuture.supplyAsync(() -> giveBack(client, hold));
            late.awaitArrival();
            assertThat(takeOne(session).slot()).isEqualTo(2);
            boolean told = release.handle((result, failure) -> failure == null).join();
            assertThat(told).as("told that it is given back").isEqualTo(free() == 2);
            if (!told) {
                ExchangeResult result = client.resolve(new ExchangeRequest(List.of(hold), List.of(), 1, false));
                assertThat(result.lost()).isEmpty();
            }
            assertThat(free()).isEqualTo(2);
            late.letGo();
        }
    }

    /** After some conflicts sessions are ended instead, and the end of one of them gets no answer. */
    @Test
    void aHoldWhoseSessionMayNotHaveEndedIsNeitherGivenBackNorLost() {
        try (SemaphoreBackend hasty = Consul.openAt("consul://" + link.address() + "?timeout=2s");
                BackendSession client = hasty.open(name, new Consul.Losses())) {
            List<Hold> holds = takeHolds(client, 2);
            link.loseRequestsTo(
                    "PUT /v1/session/destroy/" + server.holders(name).get(0));
            link.overtakeTransactions(this::changeTheList);
            ExchangeRequest release = new ExchangeRequest(holds, List.of(), 1, false);
            assertThatThrownBy(() -> client.exchange(release)).isInstanceOf(OutcomeUnknownException.class);
            assertThat(free()).isEqualTo(2);
            link.loseRequestsTo(null);
            link.overtakeTransactions(null);
            assertThat(client.resolve(release).lost()).isEmpty();
            assertThat(free()).isEqualTo(3);
        }
    }

    private void changeTheList() {
        String key = name + "/" + KeyNames.LOCK;
        LockBody body = LockBody.parse(key, LockBody.FLAGS.toString(), server.get(key));
        String nonce = Consul.uniqueName();
        server.put(key, new LockBody(body.limit(), body.holders(), nonce, false).toJson());
    }

    /** What cannot be read is given back by ending sessions, and that gets no answer. */
    @Test
    void aReleaseBelowADamagedKeyIsToldOnlyIfTheSessionHasEnded() {
        try (StubServer silent = StubServer.silent();
                ConsulHttp operations = http(link.address());
                ConsulHttp watches = http(silent.address());
                BackendSession client =
                        new ConsulSession(operations, watches, settings(link.address()), name, new Consul.Losses())) {
            Hold hold = takeOne(client);
            String entry = name + "/" + server.holders(name).get(0);
            server.put(name + "/" + KeyNames.LOCK, "garbage");
            link.loseRequestsTo("PUT /v1/session/destroy");
            ExchangeRequest release = new ExchangeRequest(List.of(hold), List.of(), 1, false);
            assertThatThrownBy(() -> client.exchange(release)).isInstanceOf(OutcomeUnknownException.class);
            assertThat(server.keys()).contains(entry);
            link.loseRequestsTo(null);
            assertThat(client.resolve(release).lost()).isEmpty();
            assertThat(server.keys()).doesNotContain(entry);
        }
    }

    private static ConsulHttp http(String address) {
        return settings(address).http(Duration.ofSeconds(4), 2);
    }

    private static ConsulSettings settings(String address) {
        return ConsulSettings.from(BackendUri.parse("consul://" + address), HolderInfo.ofThisProcess("test"));
    }

    /** Without the key that all change, nothing but the missing semaphore shows that the request is out of date. */
    @Test
    void findingOutEndsWhenTheSemaphoreWasDestroyedMeanwhile() throws Exception {
        server.delete(name + "/" + KeyNames.LOCK);
        try (SemaphoreBackend hasty = Consul.openAt("consul://" + link.address() + "?timeout=2s");
                BackendSession client = hasty.open(name, new Consul.Losses())) {
            BrokenLink.LateRequest late = link.hold("\"Verb\":\"cas\"");
            CompletableFuture<Answer> taken = CompletableFuture.supplyAsync(() -> take(client, 1));
            late.awaitArrival();
            assertThat(backend.admin().destroy(name)).isTrue();
            assertThat(taken)
                    .failsWithin(Duration.ofSeconds(30))
                    .withThrowableThat()
                    .withCauseInstanceOf(BackendUnavailableException.class);
            late.letGo();
            assertThat(server.keys()).noneMatch(key -> key.startsWith(name + "/"));
            assertThat(take(client, 1)).isEqualTo(Answer.MISSING);
        }
    }

    /** The plan of an exchange names only what was still held. */
    @Test
    void findingOutTellsAlsoOfWhatWasLostBefore() {
        try (SemaphoreBackend hasty = Consul.openAt("consul://" + link.address() + "?timeout=2s");
                BackendSession client = hasty.open(name, new Consul.Losses())) {
            List<Hold> holds = takeHolds(client, 2);
            server.destroySession(server.holders(name).get(0));
            List<Hold> lost = holds.stream()
                    .filter(hold -> client.check(hold) == HoldState.LOST)
                    .toList();
            assertThat(lost).hasSize(1);
            ExchangeRequest release = new ExchangeRequest(holds, List.of(), 1, false);
            link.loseRequests(Integer.MAX_VALUE);
            assertThatThrownBy(() -> client.exchange(release)).isInstanceOf(OutcomeUnknownException.class);
            link.loseRequests(0);
            assertThat(client.resolve(release).lost()).isEqualTo(Set.copyOf(lost));
        }
    }

    @Test
    void findingOutLeavesTheServerTimeBetweenTwoRequests() {
        try (SemaphoreBackend hasty = Consul.openAt("consul://" + link.address() + "?timeout=2s");
                BackendSession client = hasty.open(name, new Consul.Losses())) {
            giveBack(client, takeOne(client));
            link.loseRequests(Integer.MAX_VALUE);
            assertThatThrownBy(() -> take(client, 1)).isInstanceOf(OutcomeUnknownException.class);
            assertThat(link.requests().stream()
                            .filter(request -> request.startsWith("PUT /v1/txn"))
                            .count())
                    .isLessThan(200);
            link.loseRequests(0);
        }
    }

    /** How a transaction has a value, or the beginning of one if its length is a multiple of three. */
    private static String inBody(String value) {
        return Base64.getEncoder().encodeToString(value.getBytes(StandardCharsets.UTF_8));
    }

    private boolean hasPlace() {
        return server.keys().stream()
                .anyMatch(key -> key.startsWith(name + "/") && server.get(key).contains("\"Waiting\""));
    }

    private void assertSlotIsKeptThrough(BrokenLink.LateRequest late, BackendSession client) throws Exception {
        Hold hold = takeOne(client);
        late.letGo();
        assertThat(client.check(hold)).isEqualTo(HoldState.HELD);
        assertThat(takeOne(session).slot()).as("the slot of a rival").isEqualTo(2);
    }
}
