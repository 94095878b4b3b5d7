package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.takeOne;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.redis.worklock.RedisWorkLock;
import io.github.distributedsemaphore.redis.worklock.WorkAttempt;
import io.github.distributedsemaphore.redis.worklock.WorkOutcome;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** TLS with sentinels, in a cluster, and for the work lock. */
class EncryptedFormsTest {
    @TempDir
    private static Path folder;

    private static Identity identity;

    @BeforeAll
    static void make() throws Exception {
        identity = Identity.make(folder, "server", "dns:localhost,ip:127.0.0.1");
    }

    private static String[] files() {
        return new String[] {
            "--tls-cert-file", identity.certificate().toString(),
            "--tls-key-file", identity.key().toString(),
            "--tls-ca-cert-file", identity.certificate().toString()
        };
    }

    private static String shown() {
        return "ca=" + identity.certificate() + "&certificate=" + identity.certificate() + "&key=" + identity.key();
    }

    private static SemaphoreBackend open(String uri) {
        return new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test"));
    }

    private static void ping(String uri) {
        try (SemaphoreBackend backend = open(uri)) {
            backend.ping();
        }
    }

    /** A slot passes from one client to another, which is notified of it. */
    private static void assertPasses(SemaphoreBackend one, SemaphoreBackend other, String name) {
        assertThat(one.admin().create(name, 1)).isTrue();
        BackendSession holder = one.open(name, new Redis.Ear());
        BackendSession waiting = other.open(name, new Redis.Ear());
        Hold hold = takeOne(holder);
        AtomicInteger hints = new AtomicInteger();
        BackendSession.Watch watch = waiting.watch(hints::incrementAndGet);
        assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
        assertThat(holder.renew(List.of(hold)).lost()).isEmpty();
        giveBack(holder, hold);
        await().until(() -> hints.get() > 0);
        assertThat(takeOne(waiting).epoch()).isGreaterThan(hold.lastEpoch());
        watch.close();
        waiting.close();
        holder.close();
    }

    @Test
    void aClusterIsUsedOverEncryptedConnectionsToAllNodes() {
        try (RedisCluster cluster = new RedisCluster(files())) {
            assertThatThrownBy(() -> ping(cluster.uri())).isInstanceOf(BackendAccessException.class);
            String uri = cluster.uri() + "?" + shown();
            try (SemaphoreBackend one = open(uri);
                    SemaphoreBackend other = open(uri)) {
                for (int i = 0; i < 6; i++) {
                    assertPasses(one, other, "jobs" + i);
                }
                assertThat(one.admin().names()).hasSize(6);
            }
        }
    }

    @Test
    void sentinelsAndTheMasterTheyNameAreUsedOverEncryptedConnections() {
        int port = RedisServer.freePort();
        int sentinelPort = RedisServer.freePort();
        String[] lines = {
            "tls-port " + sentinelPort,
            "tls-cert-file " + identity.certificate(),
            "tls-key-file " + identity.key(),
            "tls-ca-cert-file " + identity.certificate(),
            "tls-replication yes"
        };
        String[] options = concat(files(), "--tls-port", Integer.toString(port), "--requirepass", "pw");
        try (RedisServer master = RedisServer.start(options);
                RedisServer sentinel = RedisServer.sentinel("main", port, "pw", lines)) {
            assertThat(master.isRunning() && sentinel.isRunning()).isTrue();
            String uri = "rediss-sentinel://:pw@127.0.0.1:" + sentinelPort + "/?master=main";
            assertThatThrownBy(() -> ping(uri)).isInstanceOf(BackendAccessException.class);
            try (SemaphoreBackend one = open(uri + "&" + shown());
                    SemaphoreBackend other = open(uri + "&" + shown())) {
                assertPasses(one, other, "jobs");
            }
        }
    }

    private static String[] concat(String[] first, String... more) {
        String[] all = new String[first.length + more.length];
        System.arraycopy(first, 0, all, 0, first.length);
        System.arraycopy(more, 0, all, first.length, more.length);
        return all;
    }

    /** Does one job; the trust store is a setting of the JVM. */
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) throws Exception {
            try (RedisWorkLock lock = RedisWorkLock.builder(args[0]).build()) {
                System.out.println(lock.run("job", WorkAttempt::done));
            }
        }
    }

    @Test
    void theWorkLockTrustsWhomTheJvmTrusts() throws Exception {
        int port = RedisServer.freePort();
        String[] options = concat(files(), "--tls-port", Integer.toString(port), "--tls-auth-clients", "no");
        try (RedisServer server = RedisServer.start(options)) {
            String uri = "rediss://localhost:" + port;
            try (RedisWorkLock stranger = RedisWorkLock.builder(uri).build()) {
                assertThatThrownBy(() -> stranger.run("job", WorkAttempt::done))
                        .isInstanceOf(BackendAccessException.class)
                        .hasMessageContaining("certification path");
            }
            try (RedisWorkLock trusting =
                    RedisWorkLock.builder(uri + "?" + shown()).build()) {
                assertThat(trusting.run("another job", WorkAttempt::done)).isEqualTo(WorkOutcome.DONE);
            }
            Process worker = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-Djavax.net.ssl.trustStore=" + folder.resolve("server.p12"),
                            "-Djavax.net.ssl.trustStorePassword=" + Identity.PASSWORD,
                            "-cp",
                            System.getProperty("java.class.path"),
                            Worker.class.getName(),
                            uri)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            try {
                assertThat(worker.waitFor(60, TimeUnit.SECONDS)).isTrue();
                assertThat(new String(worker.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                        .isEqualToIgnoringNewLines("DONE");
            } finally {
                worker.destroyForcibly();
            }
            assertThat(server.say("GET job")).startsWith("$");
        }
    }
}
