package io.github.distributedsemaphore.rabbitmq;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.rabbitmq.client.Connection;
import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.Failures;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.ProbeConnection;
import io.github.distributedsemaphore.rabbitmq.net.QueueSight;
import io.github.distributedsemaphore.rabbitmq.net.RabbitConnections;
import io.github.distributedsemaphore.rabbitmq.net.RabbitSettings;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

/** What goes wrong becomes the declared exception, at once, and nothing is left behind. */
class FailureTest {
    private final String name = Rabbit.name();

    private void refused(String uri, Class<? extends Exception> as) {
        SemaphoreBackend backend = Rabbit.backend(uri, "");
        BackendSession session = backend.open(name, new Rabbit.News());
        assertThatThrownBy(() -> Rabbit.take(session, 1))
                .isInstanceOf(as)
                .hasMessageNotContaining("secret")
                .hasMessageContaining("127.0.0.1");
        assertThatThrownBy(() -> backend.admin().create(name, 1)).isInstanceOf(as);
        assertThatThrownBy(() -> backend.admin().describe(name)).isInstanceOf(as);
        session.close();
        backend.close();
    }

    @Test
    void noBrokerIsUnavailable() {
        refused("amqp://guest:secret@127.0.0.1:1", BackendUnavailableException.class);
    }

    @Test
    void aWrongPasswordIsAMatterOfAccess() {
        refused("amqp://guest:secret@127.0.0.1:" + RabbitServer.port(), BackendAccessException.class);
    }

    @Test
    void aMissingVirtualHostIsAMatterOfAccess() {
        refused("amqp://guest:guest@127.0.0.1:" + RabbitServer.port() + "/nowhere", BackendAccessException.class);
    }

    @Test
    void missingRightsAreAMatterOfAccess() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        RabbitServer.ctl("add_user", "stranger", "secret");
        RabbitServer.ctl("set_permissions", "stranger", "^$", "^$", "^$");
        try {
            SemaphoreBackend backend = Rabbit.backend("amqp://stranger:secret@127.0.0.1:" + RabbitServer.port(), "");
            assertThatThrownBy(() -> backend.admin().create(name, 1)).isInstanceOf(BackendAccessException.class);
            assertThatThrownBy(() -> backend.admin().describe(name)).isInstanceOf(BackendAccessException.class);
            BackendSession session = backend.open(name, new Rabbit.News());
            assertThatThrownBy(() -> Rabbit.take(session, 1)).isInstanceOf(BackendAccessException.class);
            session.close();
            backend.close();
        } finally {
            RabbitServer.ctl("delete_user", "stranger");
        }
    }

    @Test
    void aHoldThatMayNotBeDeletedAnyMoreIsGivenBackByTheEndOfTheConnection() throws Exception {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        QueueNames names = new QueueNames(name);
        RabbitServer.ctl("add_user", "fickle", "secret");
        RabbitServer.ctl("set_permissions", "fickle", ".*", ".*", ".*");
        String uri = "amqp://fickle:secret@127.0.0.1:" + RabbitServer.port();
        List<String> lost = new CopyOnWriteArrayList<>();
        try (RabbitConnections connections = new RabbitConnections(
                        RabbitSettings.from(BackendUri.parse(uri), HolderInfo.ofThisProcess("a test")));
                ProbeConnection probes = new ProbeConnection(connections);
                Connection observer = Rabbit.connection()) {
            CallBudget budget = CallBudget.of("a test", Duration.ofSeconds(60));
            TakenSlots taken = new TakenSlots(
                    names,
                    new HolderConnection(connections, "a test", lost::add, budget.end()),
                    new QueueSight(connections, probes),
                    new FenceStream(connections, probes, names),
                    budget);
            assertThat(taken.declare(List.of(1))).isTrue();
            takeRightsFromFickle();
            assertThatThrownBy(() -> taken.giveBack(List.of(1))).isInstanceOf(BackendAccessException.class);
            assertThat(lost).singleElement(InstanceOfAssertFactories.STRING).contains("could not be given back");
            await().until(() -> !Rabbit.exists(observer, names.hold(1)));
        } finally {
            RabbitServer.ctl("delete_user", "fickle");
        }
    }

    @Test
    void aRightToCollectThatMayNotBeGivenBackAnyMoreCostsTheConnection() throws Exception {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        RabbitServer.ctl("add_user", "fickle", "secret");
        RabbitServer.ctl("set_permissions", "fickle", ".*", ".*", ".*");
        String uri = "amqp://fickle:secret@127.0.0.1:" + RabbitServer.port();
        List<String> lost = new CopyOnWriteArrayList<>();
        try (RabbitConnections connections =
                new RabbitConnections(RabbitSettings.from(BackendUri.parse(uri), HolderInfo.ofThisProcess("a test")))) {
            CallBudget budget = CallBudget.of("a test", Duration.ofSeconds(60));
            HolderConnection holder = new HolderConnection(connections, "a test", lost::add, budget.end());
            Collector collector = new Collector(new QueueNames(name));
            collector.begin(new ExchangeRequest(List.of(), List.of(2), 1, false), holder, budget);
            takeRightsFromFickle();
            assertThatThrownBy(() -> collector.end(holder, budget)).isInstanceOf(BackendAccessException.class);
            assertThat(lost).singleElement(InstanceOfAssertFactories.STRING).contains("could not be given back");
        } finally {
            RabbitServer.ctl("delete_user", "fickle");
        }
    }

    /** The channels would remember them for a while. */
    private static void takeRightsFromFickle() {
        RabbitServer.ctl("set_permissions", "fickle", "^$", "^$", "^$");
        RabbitServer.eval("[catch sys:replace_state(C, fun(S) -> erase(permission_cache), S end)"
                + " || C <- rabbit_channel:list_local()].");
    }

    @Test
    void aFenceThatMayNotBeDrawnAnyMoreIsAMatterOfAccess() throws Exception {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        RabbitServer.ctl("add_user", "fickle", "secret");
        RabbitServer.ctl("set_permissions", "fickle", ".*", ".*", ".*");
        String uri = "amqp://fickle:secret@127.0.0.1:" + RabbitServer.port();
        try (SemaphoreBackend admin = Rabbit.backend("");
                RabbitConnections connections = new RabbitConnections(
                        RabbitSettings.from(BackendUri.parse(uri), HolderInfo.ofThisProcess("a test")));
                ProbeConnection probes = new ProbeConnection(connections)) {
            admin.admin().create(name, 1);
            FenceStream fences = new FenceStream(connections, probes, new QueueNames(name));
            CallBudget budget = CallBudget.of("a test", Duration.ofSeconds(60));
            assertThat(fences.draw(budget)).isPositive();
            takeRightsFromFickle();
            assertThatThrownBy(() -> fences.draw(budget)).isInstanceOf(BackendAccessException.class);
            admin.admin().destroy(name);
        } finally {
            RabbitServer.ctl("delete_user", "fickle");
        }
    }

    @Test
    void aNodeThatIsDownIsNotTakenForAMissingQueueWhateverItsName() {
        String down =
                "NOT_FOUND - home node 'rabbit@a' of durable queue 'sem:no queue:a:1' in vhost '/' is down or inaccessible";
        assertThat(Failures.isAbsent(down)).isFalse();
        assertThat(Failures.isAbsent(down.replace(":a:1' in vhost '/' is down or inaccessible", "...")))
                .isFalse();
        assertThat(Failures.isAbsent("NOT_FOUND - no queue 'sem:x:a:1' in vhost '/'"))
                .isTrue();
    }

    /** New connections are refused then, and those that are there go on. */
    @Test
    void aPasswordThatIsChangedWhileAPermitIsHeldDoesNotCostIt() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        String user = "rotating-" + name;
        RabbitServer.node().addUser(user, "secret", ".*", ".*", ".*");
        Rabbit.News news = new Rabbit.News();
        try (RabbitBackend backend =
                (RabbitBackend) Rabbit.backend("amqp://" + user + ":secret@127.0.0.1:" + RabbitServer.port(), "")) {
            backend.admin().create(name, 2);
            BackendSession session = backend.open(name, news);
            List<Hold> held = Rabbit.granted(Rabbit.take(session, 2).answers().get(0));
            RabbitServer.ctl("change_password", user, "another");
            closeProbes(user);
            await().untilAsserted(() ->
                    assertThatThrownBy(() -> backend.probes().line(soon())).isInstanceOf(BackendAccessException.class));
            Renewal renewal = session.renew(held);
            assertThat(renewal.lost()).isEmpty();
            assertThat(renewal.retired()).isEmpty();
            assertThat(renewal.validUntil().remaining()).isPositive();
            RabbitServer.delete(new QueueNames(name).slot(2));
            assertThat(held).extracting(session::check).containsExactlyInAnyOrder(HoldState.HELD, HoldState.RETIRED);
            assertThat(session.renew(held).retired()).extracting(Hold::slot).containsExactly(2);
            assertThat(news.lost).isEmpty();
            assertThat(news.ended).isEmpty();
            session.close();
        } finally {
            RabbitServer.ctl("delete_user", user);
            try (SemaphoreBackend admin = Rabbit.backend("")) {
                admin.admin().destroy(name);
            }
        }
    }

    /** The broker has confirmed the deletion, and what becomes of the next request says nothing of that. */
    @Test
    void aReleaseThatWasConfirmedIsNoLossIfTheLinkEndsInTheRestOfItsExchange() {
        Rabbit.News news = new Rabbit.News();
        try (TcpProxy proxy = new TcpProxy(new UriAccess(RabbitServer.uri()).address());
                SemaphoreBackend admin = Rabbit.backend("");
                SemaphoreBackend backend = Rabbit.backend(
                        "amqp://guest:guest@127.0.0.1:" + proxy.address().getPort(), "")) {
            admin.admin().create(name, 1);
            BackendSession session = backend.open(name, news);
            Hold hold = Rabbit.takeOne(session);
            String exclusiveDeclaration = new QueueNames(name).hold(1) + "\4";
            try (LinkFault cut = proxy.cutAfter(Direction.REQUESTS, exclusiveDeclaration)) {
                ExchangeResult result = session.exchange(new ExchangeRequest(List.of(hold), List.of(1), 1, true));
                assertThat(result.lost()).isEmpty();
                assertThat(result.answers()).containsExactly(Answer.FULL);
                assertThat(cut.strikes()).isPositive();
            }
            assertThat(news.ended).hasSize(1);
            session.close();
            admin.admin().destroy(name);
        }
    }

    private static Deadline soon() {
        return Deadline.after(System.nanoTime(), Duration.ofSeconds(5));
    }

    private static void closeProbes(String user) {
        RabbitServer.eval("[rabbit_networking:close_connection(P, \"a test\") || [{pid, P}, {user, <<\"" + user
                + "\">>}, {client_properties, C}] <- rabbit_networking:connection_info_all([pid, user, client_properties]),"
                + " lists:member({<<\"connection_name\">>, longstr, <<\"semaphore probes\">>}, C)].");
    }

    @Test
    void aQueueTooManyForItsVirtualHostIsAMatterOfAccessAndWhatWasMadeDoesNotCount() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        RabbitServer.ctl("add_vhost", "small");
        RabbitServer.ctl("set_permissions", "-p", "small", "guest", ".*", ".*", ".*");
        RabbitServer.ctl("set_vhost_limits", "-p", "small", "{\"max-queues\": 4}");
        try (SemaphoreBackend backend = Rabbit.backend(RabbitServer.uri() + "/small", "")) {
            assertThatThrownBy(() -> backend.admin().create(name, 8))
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("Raise the limit of queues");
            assertThat(backend.admin().describe(name)).isEmpty();
        } finally {
            RabbitServer.ctl("delete_vhost", "small");
        }
    }

    @Test
    void slotsThatWereAddedBeforeOneWasRefusedAreReportedToTheCallerAndToOtherClients() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        RabbitServer.ctl("add_vhost", "small");
        RabbitServer.ctl("set_permissions", "-p", "small", "guest", ".*", ".*", ".*");
        AtomicInteger hints = new AtomicInteger();
        try (SemaphoreBackend backend = Rabbit.backend(RabbitServer.uri() + "/small", "");
                SemaphoreBackend other = Rabbit.backend(RabbitServer.uri() + "/small", "")) {
            backend.admin().create(name, 2);
            // From now on this client has a queue of its own, for which there would be no room later.
            backend.admin().resize(name, 2);
            BackendSession session = other.open(name, new Rabbit.News());
            BackendSession.Watch watch = session.watch(hints::incrementAndGet);
            RabbitServer.ctl("set_vhost_limits", "-p", "small", "{\"max-queues\": 12}");
            assertThatThrownBy(() -> backend.admin().resize(name, 20))
                    .isInstanceOf(OutcomeUnknownException.class)
                    .hasMessageContaining("Raise the limit of queues");
            int reached = backend.admin().describe(name).orElseThrow().limit();
            assertThat(reached).isBetween(3, 19);
            await().until(() -> hints.get() > 0);
            assertThatThrownBy(() -> backend.admin().resize(name, 20))
                    .as("a change of which the first step is refused")
                    .isInstanceOf(BackendAccessException.class);
            assertThat(backend.admin().describe(name).orElseThrow().limit()).isEqualTo(reached);
            watch.close();
            session.close();
        } finally {
            RabbitServer.ctl("delete_vhost", "small");
        }
    }

    @Test
    void aChannelTooManyIsAMatterOfAccess() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        RabbitServer.ctl("add_user", "narrow", "secret");
        RabbitServer.ctl("set_permissions", "narrow", ".*", ".*", ".*");
        RabbitServer.ctl("set_user_limits", "narrow", "{\"max-channels\": 0}");
        try (SemaphoreBackend backend = Rabbit.backend("amqp://narrow:secret@127.0.0.1:" + RabbitServer.port(), "")) {
            assertThatThrownBy(() -> backend.admin().create(name, 1))
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("Raise");
            BackendSession session = backend.open(name, new Rabbit.News());
            assertThatThrownBy(() -> Rabbit.take(session, 1))
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("Raise");
            session.close();
        } finally {
            RabbitServer.ctl("delete_user", "narrow");
        }
    }

    @Test
    void underAMemoryAlarmPermitsAreStillVerifiedAndGivenBack() {
        underAlarm("memory");
    }

    @Test
    void underADiskAlarmPermitsAreStillVerifiedAndGivenBack() {
        underAlarm("disk");
    }

    private void underAlarm(String resource) {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        SemaphoreBackend backend = Rabbit.backend("");
        BackendSession session = backend.open(name, new Rabbit.News());
        backend.admin().create(name, 2);
        Hold held = Rabbit.takeOne(session);
        String alarm = "{resource_limit, " + resource + ", node()}";
        RabbitServer.eval("rabbit_alarm:set_alarm({" + alarm + ", []}).");
        try {
            assertThat(session.check(held)).isEqualTo(HoldState.HELD);
            assertThat(Rabbit.giveBack(session, held).lost()).isEmpty();
            assertThat(Rabbit.freeUnderAlarm(name)).isEqualTo(2);
        } finally {
            RabbitServer.eval("rabbit_alarm:clear_alarm(" + alarm + ").");
        }
        session.close();
        backend.admin().destroy(name);
        backend.close();
    }

    /** The broker blocks a connection after its next message, so that of several probes most have no answer. */
    @Test
    void alarmsLeaveNoChannelsOpen() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        try (RabbitBackend backend = (RabbitBackend) Rabbit.backend("?detection=30s")) {
            BackendSession session = backend.open(name, new Rabbit.News());
            backend.admin().create(name, 3);
            List<Hold> held = Rabbit.granted(Rabbit.take(session, 3).answers().get(0));
            int before = channelsOfProbes();
            for (int round = 0; round < 5; round++) {
                RabbitServer.eval("rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).");
                try {
                    await().until(() -> {
                        assertThat(session.renew(held).lost()).isEmpty();
                        return backend.probes().line(soon()).isBlocked();
                    });
                } finally {
                    RabbitServer.eval("rabbit_alarm:clear_alarm({resource_limit, memory, node()}).");
                }
                await().until(() -> !backend.probes().line(soon()).isBlocked());
            }
            await().untilAsserted(() -> assertThat(channelsOfProbes()).isLessThanOrEqualTo(before));
            session.close();
            backend.admin().destroy(name);
        }
    }

    private static int channelsOfProbes() {
        String channels = RabbitServer.eval("lists:sum([N || [{channels, N}, {client_properties, C}] <-"
                + " rabbit_networking:connection_info_all([channels, client_properties]),"
                + " lists:member({<<\"connection_name\">>, longstr, <<\"semaphore probes\">>}, C)]).");
        return Integer.parseInt(channels.strip());
    }

    /** The broker blocks a connection that publishes when it next does, so that a renewal's probes may have no answer. */
    @Test
    void aRenewalUnderAnAlarmIsDoneBeforeThePermitsEndHoweverLongTheTimeOutIs() {
        assumeTrue(RabbitServer.isOurs(), "needs a broker of our own");
        try (SemaphoreBackend backend = Rabbit.backend("?timeout=30s")) {
            BackendSession session = backend.open(name, new Rabbit.News());
            backend.admin().create(name, 20);
            List<Hold> held = Rabbit.granted(Rabbit.take(session, 20).answers().get(0));
            RabbitServer.eval("rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).");
            try {
                long start = System.nanoTime();
                Renewal renewal = session.renew(held);
                assertThat(Duration.ofNanos(System.nanoTime() - start))
                        .isLessThan(
                                RabbitBackend.validity(Duration.ofSeconds(3)).dividedBy(2));
                assertThat(renewal.lost()).isEmpty();
                assertThat(renewal.retired()).isEmpty();
            } finally {
                RabbitServer.eval("rabbit_alarm:clear_alarm({resource_limit, memory, node()}).");
            }
            session.close();
            backend.admin().destroy(name);
        }
    }
}
