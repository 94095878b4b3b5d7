package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.Delivery;
import com.rabbitmq.client.Envelope;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a client hears of others, and what that leaves at the broker. */
class MailboxTest {
    private static final int ROUNDS = 40;

    private final String name = Rabbit.name();

    @BeforeEach
    void requireOwnBroker() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
    }

    private String bindings() {
        return RabbitServer.eval("length([1 || B <- rabbit_binding:list_for_source(rabbit_misc:r(<<\"/\">>, exchange,"
                + " <<\"" + Mailbox.EXCHANGE + "\">>)), element(3, B) =:= <<\"" + name + "\">>]).");
    }

    @Test
    void aClientHearsNothingMoreOfASemaphoreThatItNoLongerUses() {
        AtomicInteger changes = new AtomicInteger();
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("")) {
            backend.admin().create(name, 1);
            for (int round = 0; round < 2; round++) {
                changes.set(0);
                BackendSession session = backend.open(name, new Rabbit.News());
                Rabbit.takeOne(session);
                BackendSession.Watch watch = session.watch(changes::incrementAndGet);
                await().untilAsserted(() -> assertThat(bindings()).isEqualTo("1"));
                backend.admin().resize(name, 1);
                await().until(() -> changes.get() > 0);
                watch.close();
                session.close();
                await().untilAsserted(() -> assertThat(bindings()).isEqualTo("0"));
            }
            backend.admin().destroy(name);
        }
    }

    @Test
    void aSessionThatIsOpenedWhileTheOneBeforeEndsHearsOfOthers() throws Exception {
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("")) {
            CyclicBarrier start = new CyclicBarrier(2);
            BackendSession session = watching(backend);
            for (int round = 0; round < ROUNDS; round++) {
                CompletableFuture<BackendSession> opening = CompletableFuture.supplyAsync(() -> {
                    meet(start);
                    return watching(backend);
                });
                meet(start);
                session.close();
                session = opening.get(60, TimeUnit.SECONDS);
                drain(backend.mailbox());
                assertThat(bindings()).as("round %d", round).isEqualTo("1");
            }
            session.close();
        }
    }

    private BackendSession watching(RabbitBackend backend) {
        BackendSession session = backend.open(name, new Rabbit.News());
        assertThat(session.watch(() -> {})).isNotNull();
        return session;
    }

    private static void meet(CyclicBarrier barrier) {
        try {
            barrier.await(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns when all is done that was to be done before. */
    private void drain(Mailbox mailbox) {
        assertThat(mailbox.listen(name + "-drain")).succeedsWithin(Duration.ofSeconds(30));
    }

    /** What the last look in vain showed is not so any more, and what is left is for others. */
    @Test
    void aClientThatIsOfferedMoreSlotsThanItNeedsPassesThemOnAndTakesAnotherOneAtOnce() {
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("");
                SemaphoreBackend other = Rabbit.backend("")) {
            backend.admin().create(name, 3);
            BackendSession holding = other.open(name, new Rabbit.News());
            Hold[] all =
                    Rabbit.granted(Rabbit.take(holding, 3).answers().get(0)).toArray(Hold[]::new);
            BackendSession session = backend.open(name, new Rabbit.News());
            AtomicInteger hints = new AtomicInteger();
            CompletableFuture<List<Answer>> answers = new CompletableFuture<>();
            BackendSession.Watch watch = session.watch(() -> {
                if (hints.incrementAndGet() == all.length) {
                    answers.complete(List.of(takeWaiting(session), takeWaiting(session)));
                }
            });
            assertThat(takeWaiting(session)).isEqualTo(Answer.FULL);
            hints.set(0);
            Rabbit.giveBack(holding, all);
            assertThat(answers)
                    .succeedsWithin(Duration.ofSeconds(10))
                    .asInstanceOf(InstanceOfAssertFactories.list(Answer.class))
                    .hasOnlyElementsOfType(Answer.Granted.class);
            // Nobody else waits, so both come back.
            await().until(() -> hints.get() >= all.length + 2);
            watch.close();
            session.close();
            holding.close();
            backend.admin().destroy(name);
        }
    }

    private static Answer takeWaiting(BackendSession session) {
        return Rabbit.takeWaiting(session, 1).answers().get(0);
    }

    @Test
    void whatIsNoOfferOfThisLibraryHarmsNobodyThatWaits() throws Exception {
        QueueNames names = new QueueNames(name);
        Rabbit.News news = new Rabbit.News();
        AtomicInteger looks = new AtomicInteger();
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("");
                SemaphoreBackend other = Rabbit.backend("");
                Connection stranger = Rabbit.connection()) {
            backend.admin().create(name, 1);
            BackendSession holding = other.open(name, new Rabbit.News());
            Rabbit.takeOne(holding);
            BackendSession session = backend.open(name, news);
            BackendSession.Watch watch = session.watch(() -> {
                assertThat(takeWaiting(session)).isEqualTo(Answer.FULL);
                looks.incrementAndGet();
            });
            await().ignoreExceptions()
                    .until(() -> stranger.createChannel()
                                    .queueDeclarePassive(names.waiters())
                                    .getConsumerCount()
                            == 1);
            looks.set(0);
            // On one channel they arrive in this order.
            Channel channel = stranger.createChannel();
            for (String slot : List.of("-1", "0", "1001", "2147483647", "none", "1", "1")) {
                channel.basicPublish("", names.waiters(), offer(slot, 0), new byte[0]);
            }
            // One look may be that of a subscription that took long.
            await().until(() -> looks.get() > 1 || !news.ended.isEmpty());
            assertThat(news.ended).isEmpty();
            watch.close();
            session.close();
            holding.close();
            backend.admin().destroy(name);
        }
    }

    private static AMQP.BasicProperties offer(String slot, int hops) {
        return new AMQP.BasicProperties.Builder()
                .messageId(slot)
                .headers(Map.of("hops", hops))
                .build();
    }

    @Test
    void noMessageIsPassedOnMoreOftenThanOneOfThisLibrary() {
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("")) {
            for (int hops : List.of(Integer.MIN_VALUE, -1, 0, Waiters.MOST_HOPS, Integer.MAX_VALUE)) {
                Delivery message = new Delivery(new Envelope(1, false, "", ""), offer("1000", hops), new byte[0]);
                Waiters.Offer offer = backend.mailbox().offerIn(message, new QueueNames(name));
                assertThat(offer).isNotNull();
                assertThat(offer.slot()).isEqualTo(1_000);
                assertThat(offer.hops()).isBetween(0, Waiters.MOST_HOPS);
            }
        }
    }

    /** A connection that is blocked is as good as before when the alarm is over, so that nothing else would bring it about. */
    @Test
    void aClientThatBeginsUnderAnAlarmHearsOfOthersWhenTheAlarmIsOver() {
        String before = name + "-before";
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("?detection=30s");
                SemaphoreBackend other = Rabbit.backend("")) {
            backend.admin().create(before, 1);
            backend.admin().create(name, 1);
            BackendSession first = backend.open(before, new Rabbit.News());
            List<Hold> held = List.of(Rabbit.takeOne(first));
            BackendSession session = backend.open(name, new Rabbit.News());
            RabbitServer.eval("rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).");
            try {
                await().until(() -> {
                    assertThat(first.renew(held).lost()).isEmpty();
                    return isBlocked(backend);
                });
                assertThatThrownBy(() -> Rabbit.takeOne(session)).isInstanceOf(BackendUnavailableException.class);
            } finally {
                RabbitServer.eval("rabbit_alarm:clear_alarm({resource_limit, memory, node()}).");
            }
            await().until(() -> !isBlocked(backend));
            List<Hold> late = List.of(Rabbit.takeOne(session));
            await().untilAsserted(() -> {
                assertThat(session.renew(late).lost()).isEmpty();
                assertThat(bindings()).isEqualTo("1");
            });
            assertThat(other.admin().describe(name).orElseThrow().holders())
                    .extracting(Holder::host)
                    .doesNotContain("");
            session.close();
            first.close();
            backend.admin().destroy(name);
            backend.admin().destroy(before);
        }
    }

    private static boolean isBlocked(RabbitBackend backend) throws Exception {
        return backend.probes()
                .line(Deadline.after(System.nanoTime(), Duration.ofSeconds(5)))
                .isBlocked();
    }

    @Test
    void aQuestionThatIsAskedLateLeavesNoChannel() {
        try (TcpProxy proxy = new TcpProxy(new UriAccess(RabbitServer.uri()).address());
                RabbitBackend backend = (RabbitBackend) Rabbit.backend(
                        "amqp://guest:guest@127.0.0.1:" + proxy.address().getPort(), "?timeout=30s")) {
            drain(backend.mailbox());
            int before = channels();
            try (LinkFault silence = proxy.stall(Direction.ANSWERS)) {
                CompletableFuture<?> answeredLate = backend.mailbox().listen(name);
                RollCall unanswered =
                        backend.mailbox().callRoll(name, 1, CallBudget.of("a test", Duration.ofSeconds(30)));
                assertThat(unanswered).isNotNull();
                assertThat(answeredLate).isNotDone();
                assertThat(silence.strikes()).isPositive();
            }
            drain(backend.mailbox());
            await().untilAsserted(() -> assertThat(channels()).isLessThanOrEqualTo(before));
        }
    }

    /** Nothing is read from such a queue, so it ends only with the connection. */
    @Test
    void aClientThatIsRefusedItsMessagesTriesAgainWithTheSameQueue() {
        String user = "deaf-" + name;
        RabbitServer.node().addUser(user, "secret", "^sem:", "^(sem:.*|amq\\.default)$", "^sem:" + name + ":.*");
        try (SemaphoreBackend admin = Rabbit.backend("");
                RabbitBackend backend = (RabbitBackend)
                        Rabbit.backend("amqp://" + user + ":secret@127.0.0.1:" + RabbitServer.port(), "")) {
            admin.admin().create(name, 1);
            long before = queuesOfClients();
            BackendSession session = backend.open(name, new Rabbit.News());
            List<Hold> held = List.of(Rabbit.takeOne(session));
            // It tries once a second.
            await().during(Duration.ofSeconds(3)).untilAsserted(() -> {
                assertThat(session.renew(held).lost()).isEmpty();
                assertThat(queuesOfClients()).isLessThanOrEqualTo(before + 1);
            });
            RabbitServer.ctl("set_permissions", user, "^sem:", "^(sem:.*|amq\\.default)$", "^sem:");
            await().untilAsserted(() -> {
                assertThat(session.renew(held).lost()).isEmpty();
                assertThat(bindings()).isEqualTo("1");
            });
            session.close();
            admin.admin().destroy(name);
        } finally {
            RabbitServer.ctl("delete_user", user);
        }
    }

    private static long queuesOfClients() {
        return RabbitServer.queues().stream()
                .filter(queue -> queue.startsWith(QueueNames.PREFIX + "client:"))
                .count();
    }

    private static int channels() {
        return Integer.parseInt(RabbitServer.eval(
                "lists:sum([N || [{channels, N}] <- rabbit_networking:connection_info_all([channels])])."));
    }
}
