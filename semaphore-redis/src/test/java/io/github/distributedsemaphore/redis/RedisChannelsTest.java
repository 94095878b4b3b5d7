package io.github.distributedsemaphore.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.redis.net.RedisChannels;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Channels that several listen to. */
class RedisChannelsTest {
    private static final int ROUNDS = 2_000;
    private static final int NAMES = 20;

    @Test
    void whoBeginsToListenWhileAnotherEndsIsTold() throws Exception {
        ExecutorService threads = Executors.newSingleThreadExecutor();
        try (Redis redis = new Redis();
                RedisConnections connections = new RedisConnections(
                        RedisSettings.from(BackendUri.parse(redis.uri()), HolderInfo.ofThisProcess("test"))
                                .servers(),
                        true);
                RedisChannels channels = new RedisChannels(connections)) {
            String name = redis.layout("jobs").channelOfAll();
            String other = redis.layout("others").channelOfAll();
            Consumer<String> before = message -> {};
            channels.listen(name, before, connections.callDeadline());
            for (int i = 0; i < ROUNDS; i++) {
                CyclicBarrier barrier = new CyclicBarrier(2);
                Consumer<String> ends = before;
                Future<?> ending = threads.submit(() -> {
                    barrier.await();
                    channels.forget(name, ends);
                    return null;
                });
                CountDownLatch told = new CountDownLatch(1);
                Consumer<String> next = slot -> told.countDown();
                barrier.await();
                channels.listen(name, next, connections.callDeadline());
                ending.get();
                // Answered after whatever was sent before it.
                channels.listen(other, ends, connections.callDeadline());
                channels.forget(other, ends);
                redis.commands().publish(name, "1");
                assertThat(told.await(10, TimeUnit.SECONDS)).as("round " + i).isTrue();
                before = next;
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** One or two threads for each name began at once, all of them to connect to a server that was away. */
    @Test
    void theEndOfTheServerStartsNoThreadForEachNameThatWaits() {
        try (RedisServer server = RedisServer.start()) {
            SemaphoreBackend backend =
                    new RedisBackendProvider().open(BackendUri.parse(server.uri()), HolderInfo.ofThisProcess("test"));
            Redis.Ear ear = new Redis.Ear();
            AtomicInteger hints = new AtomicInteger();
            List<BackendSession> waiting = new ArrayList<>();
            for (int i = 0; i < NAMES; i++) {
                backend.admin().create("jobs" + i, 1);
                BackendSession session = backend.open("jobs" + i, ear);
                waiting.add(session);
                assertThat(session.watch(hints::incrementAndGet)).isNotNull();
            }
            int before = ear.executed.get();
            server.kill();
            await().until(() -> hints.get() >= NAMES);

            assertThat(ear.executed.get() - before).isZero();
            waiting.forEach(BackendSession::abort);
            backend.close();
        }
    }

    @Test
    void aConnectionThatAnswersNoMoreIsReplaced() {
        try (Redis redis = new Redis();
                Relay relay = new Relay(RedisServer.address());
                RedisConnections connections = new RedisConnections(
                        RedisSettings.from(
                                        BackendUri.parse(relay.uri() + "?timeout=2s"), HolderInfo.ofThisProcess("test"))
                                .servers(),
                        true);
                RedisChannels channels = new RedisChannels(connections)) {
            String first = redis.layout("first").channelOfAll();
            String second = redis.layout("second").channelOfAll();
            connections.open(first, connections.callDeadline()).close();
            Set<String> heard = ConcurrentHashMap.newKeySet();
            channels.listen(first, heard::add, connections.callDeadline());
            relay.keepRequests();
            Consumer<String> next = message -> {};
            assertThatThrownBy(() -> channels.listen(second, next, connections.callDeadline()))
                    .isInstanceOf(BackendUnavailableException.class);

            channels.listen(second, next, connections.callDeadline());

            // Who listened before is told that something may have been lost, and hears again.
            await().untilAsserted(() -> {
                redis.commands().publish(first, "1");
                assertThat(heard).contains("", "1");
            });
        }
    }

    /** A host that is lost ends no connection, and one that only hears would never notice. */
    @Test
    void whoWaitsHearsTheServerThatItsNextExchangeFinds() {
        try (RedisServer next = RedisServer.start();
                Redis redis = new Redis();
                Redis there = new Redis(next.uri());
                Relay relay = new Relay(RedisServer.address())) {
            String uri = redis.uri("timeout=3s");
            open(redis, uri.replace(RedisServer.address(), next.uri())).admin().create("jobs", 1);
            SemaphoreBackend backend = open(redis, uri.replace(RedisServer.address(), relay.uri()));
            backend.admin().create("jobs", 1);
            BackendSession session = redis.session(backend, "jobs", new Redis.Ear());
            Redis.giveBack(session, Redis.takeOne(session));
            AtomicInteger hints = new AtomicInteger();
            BackendSession.Watch watch = session.watch(hints::incrementAndGet);
            relay.keepRequests();
            relay.redirectNew(next.uri());
            await().ignoreExceptions().until(() -> Redis.take(session, 1) instanceof Answer.Granted);

            String channel = redis.layout("jobs").channelOfAll();
            await().until(() -> there.commands().publish(channel, Ledger.Offer.HINT) > 0);
            hints.set(0);
            there.commands().publish(channel, Ledger.Offer.HINT);
            await().until(() -> hints.get() > 0);
            watch.close();
            session.close();
        }
    }

    /** Whether it does is asked whenever a session connects. */
    @Test
    void aConnectionThatAnswersStays() {
        try (Redis redis = new Redis();
                RedisConnections connections = new RedisConnections(
                        RedisSettings.from(BackendUri.parse(redis.uri()), HolderInfo.ofThisProcess("test"))
                                .servers(),
                        true);
                RedisChannels channels = new RedisChannels(connections)) {
            String name = redis.layout("jobs").channelOfAll();
            Set<String> heard = ConcurrentHashMap.newKeySet();
            channels.listen(name, heard::add, connections.callDeadline());
            connections.open(name, connections.callDeadline()).close();

            // Longer than a server may take to answer.
            await().during(Duration.ofMillis(2_500)).until(heard::isEmpty);
            redis.commands().publish(name, "1");
            await().untilAsserted(() -> assertThat(heard).containsExactly("1"));
        }
    }

    private static SemaphoreBackend open(Redis redis, String uri) {
        return redis.track(new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test")));
    }
}
