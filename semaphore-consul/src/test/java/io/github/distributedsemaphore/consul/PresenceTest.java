package io.github.distributedsemaphore.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A client that waits is seen by the others, and costs the server no more than one session for that. */
class PresenceTest {
    private final ConsulServer server = ConsulServer.shared();
    private final String name = Consul.uniqueName();
    private final BrokenLink link = new BrokenLink(server.address());
    private final ConsulSettings settings =
            ConsulSettings.from(BackendUri.parse("consul://" + link.address()), HolderInfo.ofThisProcess("test"));
    private final ConsulHttp operations = settings.http(settings.giveUpAfter(), ConsulBackend.OPERATION_CONNECTIONS);
    private final ConsulHttp watches = settings.http(ConsulBackend.WATCH_ANSWER, ConsulBackend.WATCH_CONNECTIONS);
    private final PrefixReader reader = new PrefixReader(operations, name, name);
    private final SessionCalls.SideBySide sideBySide = new SessionCalls.SideBySide(Runnable::run);
    private final SessionCalls calls = new SessionCalls(operations, name, name, settings, sideBySide);
    private final SessionPool pool = new SessionPool(calls, name, sideBySide);
    private final PrefixWatcher watcher =
            new PrefixWatcher(operations, watches, reader, pool, new Consul.Losses(), name, settings.grace());
    private final AtomicInteger looks = new AtomicInteger();
    private final SemaphoreBackend other = Consul.open();
    private final BackendSession rival = other.open(name, new Consul.Losses());

    @BeforeEach
    void create() {
        other.admin().create(name, 3);
    }

    @AfterEach
    void close() {
        watcher.stop();
        calls.destroyAll(pool.close(), operations.end());
        operations.close();
        watches.close();
        link.close();
        rival.close();
        other.close();
        server.deleteBelow(name);
    }

    /** Waits until the watch has looked, and done with a look all that it does. */
    private void awaitLooks() {
        watcher.hint(looks::incrementAndGet);
        await("the first look").until(() -> looks.get() > 0);
        int before = looks.get();
        Consul.takeOne(rival);
        await("the next one").until(() -> looks.get() > before);
    }

    @Test
    void whoWaitsAndHasNoSessionMakesOne() {
        awaitLooks();
        await("it is seen")
                .until(() -> reader.read(operations.end()).contenders().keySet().containsAll(pool.ids()));
        assertThat(pool.ids()).hasSize(1);
    }

    /** Or nobody would leave it a turn. */
    @Test
    void whoIsServedWhileItsPlaceIsMadeHasOneThatCountsForTheNextCaller() {
        link.overtake("PUT /v1/session/create", () -> watcher.waitsFor(0, true));
        awaitLooks();
        await("a session for the place").until(() -> pool.ids().size() == 1);
        watcher.waitsFor(1, false);
        Consul.takeOne(rival);
        await("the entry says how many are waited for")
                .until(() -> reader.read(operations.end()).contenders().values().stream()
                        .anyMatch(entry -> pool.ids().contains(entry.session()) && entry.waiting() == 1));
    }

    @Test
    void whatAHintThrowsDoesNotEndTheWatch() {
        watcher.hint(() -> {
            if (looks.incrementAndGet() == 1) {
                throw new UnsupportedOperationException("a hint that fails");
            }
        });
        await("the look after the failure").until(() -> looks.get() > 1);
        int before = looks.get();
        Consul.takeOne(rival);
        await("a look at a change").until(() -> looks.get() > before);
    }

    @Test
    void whoWaitsWhileAnExchangeHasAllItsSessionsMakesNoOther() {
        pool.take(2, false, operations.end());
        awaitLooks();
        assertThat(pool.ids()).hasSize(2);
    }
}
