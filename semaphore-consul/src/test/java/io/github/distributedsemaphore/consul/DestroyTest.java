package io.github.distributedsemaphore.consul;

import static io.github.distributedsemaphore.consul.Consul.giveBack;
import static io.github.distributedsemaphore.consul.Consul.take;
import static io.github.distributedsemaphore.consul.Consul.takeHolds;
import static io.github.distributedsemaphore.consul.Consul.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a destroyed semaphore leaves to its holders, and that in the end it leaves nothing. */
class DestroyTest {
    private final ConsulServer server = ConsulServer.shared();
    private final String name = Consul.uniqueName();
    private SemaphoreBackend backend;
    private SemaphoreBackend other;
    private BackendSession session;
    private BackendSession rival;

    @BeforeEach
    void open() {
        backend = Consul.open();
        other = Consul.open();
        assertThat(backend.admin().create(name, 3)).isTrue();
        session = backend.open(name, new Consul.Losses());
        rival = other.open(name, new Consul.Losses());
    }

    @AfterEach
    void close() {
        session.close();
        rival.close();
        server.deleteBelow(name);
        backend.close();
        other.close();
    }

    @Test
    void holdersKeepTheirSlotsAndTheLastOneClearsUp() {
        Hold hold = takeOne(session);
        backend.admin().destroy(name);
        assertThat(session.check(hold)).isEqualTo(HoldState.RETIRED);
        assertThat(backend.admin().create(name, 7))
                .as("made anew with another limit")
                .isTrue();
        assertThat(session.check(hold)).isEqualTo(HoldState.HELD);
        backend.admin().destroy(name);
        assertThat(giveBack(session, hold).lost()).isEmpty();
        assertThat(server.get(name + "/.lock")).isEmpty();
    }

    @Test
    void aGrantThatMakesTheKeyDuringADestructionIsSeen() {
        server.delete(name + "/.lock");
        List<Hold> holds = new CopyOnWriteArrayList<>();
        try (BrokenLink link = new BrokenLink(server.address());
                SemaphoreBackend late = Consul.openAt("consul://" + link.address())) {
            link.overtakeTransactions(() -> {
                link.overtakeTransactions(null);
                holds.add(takeOne(rival));
            });
            assertThat(late.admin().destroy(name)).isTrue();
        }
        assertThat(holds).hasSize(1);
        assertThat(server.get(name + "/.lock")).contains("Destroyed");
        assertThat(giveBack(rival, holds.get(0)).lost()).isEmpty();
        assertThat(backend.admin().create(name, 5)).isTrue();
    }

    @Test
    void whoDestroyedItClearsUpWhenTheLastHolderDies() {
        takeHolds(rival, 2);
        backend.admin().destroy(name);
        assertThat(server.get(name + "/.lock")).contains("Destroyed");
        die();
        awaitNothing();
    }

    @Test
    void theWatchForTheLastHolderEndsWithItsClient() {
        takeOne(rival);
        backend.admin().destroy(name);
        assertThat(watches()).isEqualTo(1);
        backend.close();
        await("the watch ends").atMost(Duration.ofSeconds(10)).until(() -> watches() == 0);
    }

    @Test
    void theWatchForTheLastHolderEndsWhenTheKeyIsSomebodyElses() {
        takeOne(rival);
        backend.admin().destroy(name);
        assertThat(watches()).isEqualTo(1);
        server.put(name + "/.lock", "garbage", "0");
        await("the watch ends").atMost(Duration.ofSeconds(10)).until(() -> watches() == 0);
        assertThat(server.get(name + "/.lock")).isEqualTo("garbage");
    }

    @Test
    void anAnswerThatMakesNoSenseDoesNotEndTheWatchForTheLastHolder() {
        try (StubServer stub = StubServer.answering("[{\"Key\":{}}]")) {
            try (ConsulHttp http = http(stub.address());
                    DestroyedLocks locks = new DestroyedLocks(http, http)) {
                locks.watch(new PrefixReader(http, name, name));
                await("it asks again")
                        .atMost(Duration.ofSeconds(10))
                        .until(() -> stub.requests().size() > 1);
            }
        }
    }

    @Test
    void aDestructionWhileTheWatchForAnEarlierOneEndsIsWatchedToo() {
        try (TcpProxy proxy = new TcpProxy(new InetSocketAddress(server.host(), server.port()));
                ConsulHttp direct = http(server.address());
                ConsulHttp slow = http("127.0.0.1:" + proxy.address().getPort());
                DestroyedLocks locks = new DestroyedLocks(slow, direct)) {
            // Its last look finds nothing any more, and before it knows that there is another destroyed semaphore.
            String nothing = name + "-again";
            PrefixReader reader = new PrefixReader(slow, nothing, nothing);
            try (LinkFault late = proxy.stall(Direction.ANSWERS)) {
                locks.watch(reader);
                await("it is told that there is nothing").until(() -> late.strikes() > 0);
                server.put(nothing + "/.lock", new LockBody(1, Set.of("gone"), "n", true).toJson());
                locks.watch(reader);
            }
            await("it is deleted")
                    .atMost(Duration.ofSeconds(10))
                    .until(() -> server.get(nothing + "/.lock").isEmpty());
        }
    }

    /** As one whose first call got no answer. */
    @Test
    void whoDestroysItAgainClearsUpToo() {
        takeHolds(rival, 2);
        other.admin().destroy(name);
        other.close();
        assertThat(backend.admin().destroy(name)).isFalse();
        die();
        awaitNothing();
    }

    private static ConsulHttp http(String address) {
        ConsulSettings settings =
                ConsulSettings.from(BackendUri.parse("consul://" + address), HolderInfo.ofThisProcess("test"));
        return settings.http(settings.giveUpAfter(), 2);
    }

    private long watches() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("semaphore-consul-destroyed " + name))
                .count();
    }

    @Test
    void whoeverComesAcrossItClearsUpWhenTheOneWhoDestroyedItIsGone() {
        for (Runnable look : List.<Runnable>of(
                () -> assertThat(take(session, 1)).isEqualTo(Answer.MISSING),
                () -> assertThat(other.admin().describe(name)).isEmpty())) {
            backend.admin().create(name, 3);
            try (SemaphoreBackend passing = Consul.open();
                    BackendSession holder = passing.open(name, new Consul.Losses())) {
                takeOne(holder);
                passing.admin().destroy(name);
                holder.abort();
            }
            die();
            assertThat(server.get(name + "/.lock")).contains("Destroyed");
            look.run();
            awaitNothing();
        }
    }

    /** The sessions end as if their time was up. */
    private void die() {
        rival.abort();
        server.holders(name).forEach(server::destroySession);
    }

    private void awaitNothing() {
        await("nothing is left")
                .atMost(Duration.ofSeconds(10))
                .until(() -> server.keys().stream().noneMatch(key -> key.startsWith(name + "/.")));
    }
}
