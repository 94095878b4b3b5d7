package io.github.distributedsemaphore.redis;

import static io.github.distributedsemaphore.redis.Redis.giveBack;
import static io.github.distributedsemaphore.redis.Redis.takeHolds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Encrypted connections to a server that asks for a certificate: who is trusted by whom, and what the refusals are. */
class TlsTest {
    @TempDir
    private static Path folder;

    private static Identity server;
    private static Identity client;
    private static RedisServer running;
    private static int port;

    private final List<SemaphoreBackend> backends = new ArrayList<>();

    @BeforeAll
    static void start() throws Exception {
        server = Identity.make(folder, "server", "dns:localhost,ip:127.0.0.1");
        client = Identity.make(folder, "client", "dns:client.example");
        Path both = folder.resolve("both.crt");
        Files.writeString(both, Files.readString(server.certificate()) + Files.readString(client.certificate()));
        port = RedisServer.freePort();
        running = start(server, both, port);
    }

    private static RedisServer start(Identity identity, Path trusted, int tlsPort) {
        return RedisServer.start(
                "--tls-port",
                Integer.toString(tlsPort),
                "--tls-cert-file",
                identity.certificate().toString(),
                "--tls-key-file",
                identity.key().toString(),
                "--tls-ca-cert-file",
                trusted.toString());
    }

    @AfterAll
    static void stop() {
        running.close();
    }

    @AfterEach
    void close() {
        backends.forEach(SemaphoreBackend::close);
    }

    private SemaphoreBackend open(int at, String... settings) {
        String uri = "rediss://localhost:" + at + "?" + String.join("&", settings);
        SemaphoreBackend backend =
                new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test"));
        backends.add(backend);
        return backend;
    }

    private SemaphoreBackend open(String... settings) {
        return open(port, settings);
    }

    private static String ca(Identity identity) {
        return "ca=" + identity.certificate();
    }

    private static String[] shown(Identity identity) {
        return new String[] {ca(server), "certificate=" + identity.certificate(), "key=" + identity.key()};
    }

    @Test
    void everythingWorksOverEncryptedConnections() {
        SemaphoreBackend backend = open(shown(client));
        assertThat(backend.admin().create("jobs", 1)).isTrue();
        BackendSession holder = backend.open("jobs", new Redis.Ear());
        BackendSession waiting = open(shown(client)).open("jobs", new Redis.Ear());
        Hold hold = takeHolds(holder, 1).get(0);
        assertThat(holder.check(hold)).isEqualTo(HoldState.HELD);
        AtomicInteger hints = new AtomicInteger();
        BackendSession.Watch watch = waiting.watch(hints::incrementAndGet);
        assertThat(Redis.await(waiting, 1).answers()).containsExactly(Answer.FULL);
        giveBack(holder, hold);
        await().until(() -> hints.get() > 0);
        assertThat(Redis.await(waiting, 1).answers().get(0)).isInstanceOf(Answer.Granted.class);
        watch.close();
        waiting.close();
        holder.close();
        assertThat(backend.admin().destroy("jobs")).isTrue();
    }

    @Test
    void aServerThatNobodyTrustsIsRefused() {
        assertThatThrownBy(() -> open().ping())
                .isInstanceOf(BackendAccessException.class)
                .hasMessageContaining("'ca'");
        assertThatThrownBy(() -> open(ca(client)).ping()).isInstanceOf(BackendAccessException.class);
    }

    @Test
    void aServerOfAnotherNameIsRefused() throws Exception {
        Identity other = Identity.make(folder, "other", "dns:other.example");
        int at = RedisServer.freePort();
        try (RedisServer misnamed = start(other, client.certificate(), at)) {
            assertThat(misnamed.say("PING")).isEqualTo("+PONG");
            String[] shown = {ca(other), "certificate=" + client.certificate(), "key=" + client.key()};
            assertThatThrownBy(() -> open(at, shown).ping())
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("matching localhost");
        }
    }

    @Test
    void aClientThatTheServerDoesNotTrustIsRefused() throws Exception {
        Identity stranger = Identity.make(folder, "stranger", "dns:stranger.example");
        assertThatThrownBy(() -> open(ca(server)).ping())
                .isInstanceOf(BackendAccessException.class)
                .hasMessageContaining("'certificate'");
        String[] strange = {ca(server), "certificate=" + stranger.certificate(), "key=" + stranger.key()};
        assertThatThrownBy(() -> open(strange).ping()).isInstanceOf(BackendAccessException.class);
    }

    @Test
    void aServerThatDoesNotSpeakTlsIsUnavailable() {
        assertThatThrownBy(() -> open(running.port(), ca(server)).ping())
                .isInstanceOf(BackendUnavailableException.class);
    }

    @Test
    void filesThatHoldSomethingElseAreRefused() throws Exception {
        Path empty = Files.writeString(folder.resolve("empty"), "nothing\n");
        assertThatThrownBy(() -> open("ca=" + empty)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> open(ca(server), "certificate=" + client.certificate(), "key=" + empty))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
