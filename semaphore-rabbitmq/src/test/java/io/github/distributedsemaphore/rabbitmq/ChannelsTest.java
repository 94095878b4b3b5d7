package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.QueueAnswer;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.rabbitmq.net.RabbitSettings;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Channels that the broker does not open, or closes late, cost nothing that it was not asked for. */
class ChannelsTest {
    private static final String ALARM = "{resource_limit, memory, node()}";

    /** The client library gives the number of a channel to another one after so long. */
    private static final Duration TIMEOUT = Duration.ofSeconds(2);

    private static final int ROUNDS = 4;
    private static final int FEW_CHANNELS = 8;

    private final String name = Rabbit.name();
    private final QueueNames names = new QueueNames(name);
    private final SemaphoreBackend admin = Rabbit.backend("?timeout=1m");
    private final Rabbit.News news = new Rabbit.News();

    @BeforeEach
    void create() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        admin.admin().create(name, 1);
    }

    @AfterEach
    void cleanUp() {
        admin.admin().destroy(name);
        admin.close();
    }

    private static Deadline soon() {
        return Deadline.after(System.nanoTime(), Duration.ofSeconds(10));
    }

    private static int channels(String purpose) {
        String channels = RabbitServer.eval("lists:sum([N || [{channels, N}, {client_properties, C}] <-"
                + " rabbit_networking:connection_info_all([channels, client_properties]),"
                + " lists:member({<<\"connection_name\">>, longstr, <<\"" + purpose + "\">>}, C)]).");
        return Integer.parseInt(channels.strip());
    }

    @Test
    void watchesUnderAnAlarmLeaveNoChannelOpen() {
        BackendSession holding = admin.open(name, new Rabbit.News());
        Rabbit.takeOne(holding);
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("?timeout=500ms")) {
            BackendSession waiting = backend.open(name, news);
            await().ignoreExceptions().until(() -> isRefused(waiting));
            int before = channels("semaphore probes");
            RabbitServer.eval("rabbit_alarm:set_alarm({" + ALARM + ", []}).");
            try {
                await().ignoreExceptions()
                        .until(() -> isRefused(waiting)
                                && backend.probes().line(soon()).isBlocked());
                for (int round = 0; round < ROUNDS; round++) {
                    waiting.watch(() -> {}).close();
                }
            } finally {
                RabbitServer.eval("rabbit_alarm:clear_alarm(" + ALARM + ").");
            }
            await().until(() -> !backend.probes().line(soon()).isBlocked());
            await().untilAsserted(() -> assertThat(channels("semaphore probes")).isLessThanOrEqualTo(before));
            waiting.close();
        }
        holding.close();
    }

    private static boolean isRefused(BackendSession waiting) {
        return Rabbit.takeWaiting(waiting, 1).answers().get(0) == Answer.FULL;
    }

    private interface Silence extends AutoCloseable {
        @Override
        void close();
    }

    /** A queue that answers nothing, as one on a node of a cluster that is cut off. */
    private static Silence suspend(String queue) {
        String process = "{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\"" + queue + "\">>)), P ="
                + " amqqueue:get_pid(Q), ";
        RabbitServer.eval(process + "sys:suspend(P).");
        return () -> RabbitServer.eval(process + "sys:resume(P).");
    }

    /** To connect may take a busy machine longer than there is time. */
    private static List<Hold> taken(BackendSession session, int want) {
        return await().ignoreException(BackendUnavailableException.class)
                .until(() -> Rabbit.granted(Rabbit.take(session, want).answers().get(0)), Objects::nonNull);
    }

    /** Renews again and again, each time so late that the client library may have given away the number of a channel. */
    private static void renewLate(BackendSession session, List<Hold> holds) {
        for (int round = 0; round < ROUNDS; round++) {
            Deadline next = Deadline.after(System.nanoTime(), TIMEOUT.plusMillis(200));
            await().until(() -> next.isPast(System.nanoTime()));
            try {
                assertThat(session.renew(holds).lost()).isEmpty();
            } catch (BackendUnavailableException e) {
                // As one at a busy broker may be; the next one comes soon enough.
            }
        }
    }

    @Test
    void looksThatAreAnsweredLateCostNoPermit() throws Exception {
        try (SemaphoreBackend backend = Rabbit.backend("?detection=60s&timeout=2s")) {
            BackendSession session = backend.open(name, news);
            Hold hold = taken(session, 1).get(0);
            int before = channels("semaphore " + name);
            try (Silence silence = suspend(names.slot(1))) {
                assertThat(silence).isNotNull();
                renewLate(session, List.of(hold));
            }
            await("late answers").until(() -> channels("semaphore " + name) <= before);
            assertThat(news.ended).isEmpty();
            assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
            session.close();
        }
    }

    @Test
    void aSlotThatIsSilentDoesNotCostTheConnectionOfOthers() throws Exception {
        String healthy = name + "-healthy";
        admin.admin().create(healthy, 1);
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("?detection=60s&timeout=4s")) {
            BackendSession session = backend.open(name, news);
            List<Hold> holds = taken(session, 1);
            BackendSession other = backend.open(healthy, news);
            ProbeConnection.Line line = backend.probes().line(soon());
            try (Silence silence = suspend(names.slot(1))) {
                assertThat(silence).isNotNull();
                assertThat(session.renew(holds).retired()).isEqualTo(Set.copyOf(holds));
                assertThat(backend.probes().line(soon())).isSameAs(line);
                Rabbit.takeOne(other);
            }
            assertThat(news.ended).isEmpty();
            other.close();
            session.close();
        } finally {
            admin.admin().destroy(healthy);
        }
    }

    @Test
    void slotsThatStaySilentDoNotUseUpTheChannelsOfTheirHolds() {
        int limit = 16;
        int renewals = 6;
        admin.admin().resize(name, limit);
        RabbitServer.eval("application:set_env(rabbit, channel_max, 64).");
        List<Silence> silences = new ArrayList<>();
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("?detection=60s&timeout=2s")) {
            BackendSession session = backend.open(name, news);
            List<Hold> holds = taken(session, limit);
            for (int slot = 1; slot <= limit; slot++) {
                silences.add(suspend(names.slot(slot)));
            }
            for (int i = 0; i < renewals; i++) {
                assertThat(session.renew(holds).lost()).isEmpty();
            }
            silences.forEach(Silence::close);
            silences.clear();
            await("late answers")
                    .untilAsserted(
                            () -> assertThat(session.renew(holds).retired()).isEmpty());
            assertThat(news.ended).isEmpty();
            session.close();
        } finally {
            silences.forEach(Silence::close);
            RabbitServer.eval("application:set_env(rabbit, channel_max, 2047).");
        }
    }

    @Test
    void aCountThatIsAnsweredLateCostsNoPermit() throws Exception {
        admin.admin().resize(name, 3);
        try (SemaphoreBackend backend = Rabbit.backend("?detection=60s&timeout=2s");
                Connection observer = Rabbit.connection()) {
            BackendSession session = backend.open(name, news);
            List<Hold> holds = taken(session, 3);
            String count = names.count(HolderCount.SlotBlock.of(1, 3));
            try (Silence silence = suspend(count)) {
                assertThat(silence).isNotNull();
                Rabbit.giveBack(session, holds.get(0));
                // Each look at a slot that is gone costs a channel, so that new ones are opened.
                holds.stream().skip(1).forEach(hold -> RabbitServer.delete(names.slot(hold.slot())));
                renewLate(session, holds.subList(1, 3));
            }
            Channel observing = observer.createChannel();
            await().until(() -> observing.queueDeclarePassive(count).getConsumerCount() == 0);
            assertThat(news.ended).isEmpty();
            assertThat(session.renew(holds.subList(1, 3)).lost()).isEmpty();
            session.close();
        }
    }

    /** To ask the holders who they are takes a channel. */
    @Test
    void looksAtHoldersLeaveNoChannelOpen() {
        BackendSession holding = admin.open(name, new Rabbit.News());
        Rabbit.takeOne(holding);
        assertThat(admin.admin().describe(name)).isPresent();
        int before = channels("semaphore probes");
        for (int round = 0; round < ROUNDS; round++) {
            assertThat(admin.admin().describe(name)).isPresent();
        }
        await().untilAsserted(() -> assertThat(channels("semaphore probes")).isLessThanOrEqualTo(before));
        holding.close();
    }

    @Test
    void aSubscriptionThatIsAnsweredLateDoesNotCostTheConnectionOfOthers() throws Exception {
        BackendSession holding = admin.open(name, new Rabbit.News());
        Rabbit.takeOne(holding);
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("?timeout=1s");
                BackendSession.Watch other = holding.watch(() -> {})) {
            BackendSession waiting = backend.open(name, news);
            await().ignoreExceptions().until(() -> isRefused(waiting));
            AtomicInteger hints = new AtomicInteger();
            ProbeConnection.Line line = backend.probes().line(soon());
            int before = channels("semaphore probes");
            try (Silence silence = suspend(names.waiters());
                    BackendSession.Watch deaf = waiting.watch(hints::incrementAndGet)) {
                assertThat(List.of(other, silence, deaf)).doesNotContainNull();
                await("without a subscription").until(() -> hints.get() > 0);
            }
            await("late answers").until(() -> channels("semaphore probes") <= before);
            assertThat(backend.probes().line(soon())).isSameAs(line);
            waiting.close();
        }
        holding.close();
    }

    @Test
    void ofManyWatchesInARowTheLastHasTheOnlySubscriptionAndLeavesNone() throws Exception {
        try (SemaphoreBackend backend = Rabbit.backend("");
                Connection observer = Rabbit.connection()) {
            BackendSession waiting = backend.open(name, news);
            for (int round = 0; round < ROUNDS; round++) {
                waiting.watch(() -> {}).close();
            }
            try (BackendSession.Watch last = waiting.watch(() -> {})) {
                assertThat(last).isNotNull();
                await().ignoreExceptions().until(() -> consumers(observer) == 1);
            }
            await().until(() -> !Rabbit.exists(observer, names.waiters()));
            waiting.close();
        }
    }

    private int consumers(Connection observer) throws Exception {
        try (Channel observing = observer.createChannel()) {
            return observing.queueDeclarePassive(names.waiters()).getConsumerCount();
        }
    }

    @Test
    void aSemaphoreTooManyForItsChannelsIsAMatterOfAccessAndTheOthersGoOn() throws Exception {
        List<String> many = new ArrayList<>();
        for (int i = 0; i < FEW_CHANNELS; i++) {
            many.add(name + "-" + i);
            admin.admin().create(many.get(i), 1);
        }
        RabbitServer.eval("application:set_env(rabbit, channel_max, " + FEW_CHANNELS + ").");
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("")) {
            ProbeConnection.Line line = backend.probes().line(soon());
            List<BackendSession> sessions = new ArrayList<>();
            assertThatThrownBy(() -> {
                        for (String each : many) {
                            sessions.add(backend.open(each, news));
                            Rabbit.takeOne(sessions.get(sessions.size() - 1));
                        }
                    })
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("channel_max");
            assertThat(backend.probes().line(soon())).isSameAs(line);
            assertThat(Rabbit.take(sessions.get(0), 1).answers()).containsExactly(Answer.FULL);
            sessions.forEach(BackendSession::close);
        } finally {
            RabbitServer.eval("application:set_env(rabbit, channel_max, 2047).");
            many.forEach(admin.admin()::destroy);
        }
    }

    @Test
    void aLookWithoutAChannelForProbesIsDoneOnAnotherConnection() throws Exception {
        RabbitServer.eval("application:set_env(rabbit, channel_max, " + FEW_CHANNELS + ").");
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("")) {
            ProbeConnection.Line line = backend.probes().line(soon());
            for (int i = 0; i < FEW_CHANNELS; i++) {
                assertThat(line.newChannel().isOpen()).isTrue();
            }
            assertThatCode(backend::ping).doesNotThrowAnyException();
            assertThat(backend.probes().line(soon())).isSameAs(line);
        } finally {
            RabbitServer.eval("application:set_env(rabbit, channel_max, 2047).");
        }
    }

    @Test
    void aLookWhileTheConnectionIsClosedDoesNotCutThatOff() throws Exception {
        try (TcpProxy proxy = new TcpProxy(new UriAccess(RabbitServer.uri()).address());
                RabbitConnections connections = new RabbitConnections(RabbitSettings.from(
                        BackendUri.parse("amqp://guest:guest@127.0.0.1:"
                                + proxy.address().getPort()),
                        HolderInfo.ofThisProcess("a test")));
                Connection observer = Rabbit.connection()) {
            HolderConnection holder = new HolderConnection(connections, "a test", news.ended::add, soon());
            assertThat(holder.declareExclusive(names.hold(1), soon())).isEqualTo(QueueAnswer.OK);
            // Costs the only channel, so that the next look needs another.
            assertThat(holder.look(names.slot(2), soon())).isEqualTo(QueueAnswer.ABSENT);
            CompletableFuture<?> closing;
            try (LinkFault silence = proxy.stall(Direction.ANSWERS)) {
                closing = CompletableFuture.runAsync(() -> holder.close(soon()));
                await().until(() -> silence.strikes() > 0);
                assertThatThrownBy(() -> holder.look(names.slot(1), soon())).isInstanceOf(LinkLostException.class);
                await().during(TIMEOUT).until(() -> !closing.isDone());
            }
            assertThat(closing).succeedsWithin(Duration.ofSeconds(10));
            assertThat(Rabbit.exists(observer, names.hold(1))).isFalse();
            assertThat(news.ended).isEmpty();
        }
    }
}
