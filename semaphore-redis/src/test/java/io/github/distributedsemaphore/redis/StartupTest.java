package io.github.distributedsemaphore.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.spi.BackendUri;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.lettuce.core.AclSetuserArgs;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The first connection: a server that is not ready yet is waited for, one that refuses is not. */
class StartupTest {
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

    private static SemaphoreBackend open(String uri) {
        return new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test"));
    }

    private Future<SemaphoreBackend> opening(String uri) {
        return threads.submit(() -> open(uri));
    }

    @Test
    void aServerThatStartsLaterIsWaitedFor() throws Exception {
        int port = RedisServer.freePort();
        String uri = "redis://127.0.0.1:" + port;
        assertThatThrownBy(() -> open(uri + "?startup=0s"))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("127.0.0.1:" + port)
                .hasMessageContaining("startup");
        Future<SemaphoreBackend> opening;
        try (ServerSocket notYet = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            opening = opening(uri + "?startup=1m");
            notYet.setSoTimeout(60_000);
            notYet.accept().close();
        }
        track(RedisServer.startAt(port));
        assertThat(track(opening.get()).guarantees().backend()).isEqualTo("redis");
    }

    @Test
    void aServerThatReadsItsDataIsWaitedFor() throws Exception {
        RedisServer server = track(RedisServer.startForDebug("--rdbcompression", "no"));
        assertThat(server.say("DEBUG POPULATE 160 filler 500000")).isEqualTo("+OK");
        assertThat(server.say("SAVE")).isEqualTo("+OK");
        server.kill();
        // For twenty seconds it reads, and looks after its clients every two megabytes, or until it is told to be
        // quick.
        server.beginRestart("--appendonly", "no", "--key-load-delay", "125000");
        assertThatThrownBy(() -> open(server.uri() + "?startup=0s"))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("LOADING");
        Future<SemaphoreBackend> opening = opening(server.uri() + "?startup=1m");
        // Before 7.0 this is refused until it has read all.
        server.say("CONFIG SET key-load-delay 0");
        assertThat(track(opening.get()).guarantees().backend()).isEqualTo("redis");
    }

    @Test
    void aRefusalIsNeverTakenForALostConnectionAndNotWaitedFor() throws Exception {
        RedisServer server = track(RedisServer.start());
        Redis redis = track(new Redis(server.uri()));
        redis.commands().aclSetuser("poor", AclSetuserArgs.Builder.on().addPassword("pw"));
        redis.commands().aclSetuser("default", AclSetuserArgs.Builder.on().addPassword("secret"));
        String host = "127.0.0.1:" + server.port() + "?startup=10m";
        List<String> refused = List.of("redis://" + host, "redis://:wrong@" + host, "redis://poor:pw@" + host);
        List<Future<SemaphoreBackend>> all = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            all.add(opening(refused.get(i % refused.size())));
        }
        for (Future<SemaphoreBackend> one : all) {
            assertThatThrownBy(one::get)
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(BackendAccessException.class);
        }
        redis.commands().aclSetuser("default", AclSetuserArgs.Builder.on().nopass());
    }

    @Test
    void anotherKindOfServerIsToldByItsName() {
        RedisServer server = track(RedisServer.start());
        RedisServer sentinel = track(RedisServer.sentinel("main", server.port(), "pw"));
        RedisServer node = track(RedisServer.startNode());
        assertThatThrownBy(() -> open(sentinel.uri()))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("redis-sentinel:");
        assertThatThrownBy(() -> open(node.uri()))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("redis-cluster:");
        assertThatThrownBy(() -> open(server.uri().replace("redis:", "redis-cluster:")))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("redis:");
        String unknown = sentinel.uri().replace("redis:", "redis-sentinel:") + "?master=other";
        assertThatThrownBy(() -> open(unknown))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("'other'");
    }

    @Test
    void aDatabaseThatIsNotThereIsRefused() {
        RedisServer server = track(RedisServer.start("--databases", "4"));
        SemaphoreBackend third = track(open(server.uri() + "/3"));
        third.admin().create("jobs", 1);
        assertThat(track(open(server.uri() + "/0")).admin().describe("jobs")).isEmpty();
        assertThatThrownBy(() -> open(server.uri() + "/4"))
                .isInstanceOf(IncompatibleStateException.class)
                .hasMessageContaining("database");
        await().until(() -> third.admin().names().contains("jobs"));
    }
}
