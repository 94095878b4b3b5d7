package io.github.distributedsemaphore.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.lettuce.core.AclSetuserArgs;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The first contact: to connect asks nothing, and each call meets what the server refuses until the server is right. */
class FirstContactTest {
    private final List<AutoCloseable> open = new ArrayList<>();
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void close() throws Exception {
        threads.shutdownNow();
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
    }

    private <T extends AutoCloseable> T track(T resource) {
        open.add(resource);
        return resource;
    }

    private SemaphoreBackend open(String uri) {
        return track(new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test")));
    }

    private void ping(String uri) {
        open(uri).ping();
    }

    @Test
    void aServerThatIsNotThereConcernsTheCallsAndNotTheConnect() {
        int port = RedisServer.freePort();
        SemaphoreBackend backend = open("redis://127.0.0.1:" + port);
        assertThat(backend.guarantees().has(Capability.DURABLE_STATE)).isFalse();
        assertThat(backend.guarantees().notes()).anyMatch(note -> note.contains("connected to yet"));
        assertThatThrownBy(backend::ping)
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("127.0.0.1:" + port);
        assertThatThrownBy(() -> Redis.ask(backend.open("jobs", new Redis.Ear()), 1))
                .isInstanceOf(BackendUnavailableException.class);
        track(RedisServer.startAt(port));
        backend.ping();
        assertThat(backend.guarantees().has(Capability.DURABLE_STATE)).isTrue();
        assertThat(backend.guarantees().notes()).noneMatch(note -> note.contains("connected to yet"));
    }

    @Test
    void aPrimaryThatSentinelsReplacedMayGoOnUnlessAGrantNeedsAReplica() {
        String sentinels = "redis-sentinel://127.0.0.1:" + RedisServer.freePort() + "/?master=main";
        assertThat(failOver(sentinels)).isEqualTo(Exposure.UNBOUNDED);
        assertThat(open(sentinels).guarantees().notes()).anyMatch(note -> note.contains("set minReplicas=1"));
        assertThat(failOver(sentinels + "&minReplicas=1")).isEqualTo(Exposure.atMost(Duration.ofMillis(8_500)));
        assertThat(failOver("redis-cluster://127.0.0.1:1")).isEqualTo(Exposure.atMost(Duration.ofMillis(8_500)));
    }

    private Exposure failOver(String uri) {
        return open(uri).guarantees().exposure(Fault.FAIL_OVER);
    }

    @Test
    void aServerThatDoesNotAnswerIsGivenUpAfterTheTimeOut() {
        RedisServer server = track(RedisServer.start());
        SemaphoreBackend backend = open(server.uri() + "?timeout=300ms");
        assertThat(backend.guarantees().callBound()).isEqualTo(Duration.ofMillis(900));
        backend.ping();
        server.freeze();
        long begin = System.nanoTime();
        assertThatThrownBy(backend::ping).isInstanceOf(BackendUnavailableException.class);
        assertThat(Duration.ofNanos(System.nanoTime() - begin))
                .isBetween(Duration.ofMillis(300), Duration.ofMillis(900));
    }

    /** Each waited until all before it had tried for the whole time-out. */
    @Test
    void callsAtOnceToAServerThatDoesNotAnswerDoNotQueue() throws Exception {
        RedisServer server = track(RedisServer.start());
        ping(server.uri()); // loads the client library
        SemaphoreBackend backend = open(server.uri() + "?timeout=1s");
        server.freeze();
        CyclicBarrier start = new CyclicBarrier(8);
        List<Future<Duration>> calls = new ArrayList<>();
        for (int i = 0; i < start.getParties(); i++) {
            calls.add(threads.submit(() -> {
                start.await();
                long begin = System.nanoTime();
                assertThatThrownBy(() -> backend.admin().describe("jobs"))
                        .isInstanceOf(BackendUnavailableException.class);
                return Duration.ofNanos(System.nanoTime() - begin);
            }));
        }
        for (Future<Duration> call : calls) {
            assertThat(call.get()).isLessThan(backend.guarantees().callBound());
        }
    }

    @Test
    void aServerThatReadsItsDataIsUnavailableUntilItHas() {
        RedisServer server = track(RedisServer.startForDebug("--rdbcompression", "no"));
        assertThat(server.say("DEBUG POPULATE 160 filler 500000")).isEqualTo("+OK");
        // It takes seconds on a busy machine.
        assertThat(server.say("BGSAVE")).startsWith("+Background saving started");
        await().atMost(Duration.ofMinutes(1))
                .ignoreExceptions()
                .until(() -> server.bulk("INFO persistence").contains("rdb_bgsave_in_progress:0"));
        server.kill();
        // For twenty seconds it reads, and looks after its clients every two megabytes, or until it is told to be
        // quick.
        server.beginRestart("--appendonly", "no", "--key-load-delay", "125000");
        SemaphoreBackend backend = open(server.uri());
        assertThatThrownBy(backend::ping)
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("LOADING");
        // Before 7.0 this is refused until it has read all.
        server.say("CONFIG SET key-load-delay 0");
        await().atMost(Duration.ofMinutes(1))
                .ignoreExceptionsInstanceOf(BackendUnavailableException.class)
                .untilAsserted(backend::ping);
    }

    @Test
    void aRefusalIsNeverTakenForALostConnectionAndMeetsEachCall() throws Exception {
        RedisServer server = track(RedisServer.start());
        Redis redis = track(new Redis(server.uri()));
        redis.commands().aclSetuser("poor", AclSetuserArgs.Builder.on().addPassword("pw"));
        redis.commands().aclSetuser("default", AclSetuserArgs.Builder.on().addPassword("secret"));
        String host = "127.0.0.1:" + server.port();
        List<SemaphoreBackend> refused =
                List.of(open("redis://" + host), open("redis://:wrong@" + host), open("redis://poor:pw@" + host));
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            for (SemaphoreBackend backend : refused) {
                all.add(threads.submit(backend::ping));
                all.add(threads.submit(() -> Redis.ask(backend.open("jobs", new Redis.Ear()), 1)));
                all.add(threads.submit(() -> backend.admin().describe("jobs")));
            }
        }
        for (Future<?> one : all) {
            assertThatThrownBy(one::get)
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(BackendAccessException.class);
        }
        redis.commands().aclSetuser("default", AclSetuserArgs.Builder.on().nopass());
        refused.get(0).ping();
    }

    @Test
    void anotherKindOfServerIsToldByItsName() {
        RedisServer server = track(RedisServer.start());
        RedisServer sentinel = track(RedisServer.sentinel("main", server.port(), "pw"));
        RedisServer node = track(RedisServer.startNode());
        assertThatThrownBy(() -> ping(sentinel.uri()))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("redis-sentinel:");
        assertThatThrownBy(() -> ping(node.uri()))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("redis-cluster:");
        assertThatThrownBy(() -> ping(server.uri().replace("redis:", "redis-cluster:")))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("redis:");
        String unknown = sentinel.uri().replace("redis:", "redis-sentinel:") + "?master=other";
        assertThatThrownBy(() -> ping(unknown))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("'other'");
    }

    @Test
    void aDatabaseThatIsNotThereIsRefused() {
        RedisServer server = track(RedisServer.start("--databases", "4"));
        SemaphoreBackend third = open(server.uri() + "/3");
        third.admin().create("jobs", 1);
        assertThat(open(server.uri() + "/0").admin().describe("jobs")).isEmpty();
        assertThatThrownBy(() -> ping(server.uri() + "/4"))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("database");
        await().until(() -> third.admin().names().contains("jobs"));
    }
}
