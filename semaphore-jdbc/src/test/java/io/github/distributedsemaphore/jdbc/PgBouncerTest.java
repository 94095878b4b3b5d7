package io.github.distributedsemaphore.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** PgBouncer in transaction mode: two connections to the server for all clients, no hints, no prepared statements. */
class PgBouncerTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final int PORT = FreePorts.choose(1).get(0);
    private static final String CONFIGURATION = """
            [databases]
            * = host=127.0.0.1 port=SERVER
            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = LISTEN
            unix_socket_dir =
            auth_type = scram-sha-256
            auth_file = USERS
            pool_mode = transaction
            default_pool_size = 2
            ignore_startup_parameters = extra_float_digits
            """;

    private static PostgresServer server;
    private static Process bouncer;

    @BeforeAll
    static void start() throws IOException {
        server = PostgresServer.started();
        Path users = server.install("users.txt", "\"" + PostgresServer.USER + "\" \"" + PostgresServer.PASSWORD + "\"");
        Path configuration = server.install(
                "pgbouncer.ini",
                CONFIGURATION
                        .replace("SERVER", Integer.toString(server.port()))
                        .replace("LISTEN", Integer.toString(PORT))
                        .replace("USERS", users.toString()));
        Path log = Files.createTempFile("pgbouncer", ".log");
        bouncer = new ProcessBuilder(PostgresServer.command("pgbouncer", configuration.toString()))
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        await("PgBouncer listens").atMost(PATIENCE).until(PgBouncerTest::listens);
        Files.delete(log);
    }

    private static boolean listens() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), PORT)) {
            return socket.isConnected();
        } catch (IOException e) {
            assertThat(bouncer.isAlive()).as("PgBouncer runs").isTrue();
            return false;
        }
    }

    @AfterAll
    static void stop() throws InterruptedException {
        bouncer.destroyForcibly();
        assertThat(bouncer.waitFor(20, TimeUnit.SECONDS)).isTrue();
        server.close();
    }

    private static SemaphoreClient client() {
        return SemaphoreClient.connect("postgresql://" + PostgresServer.USER + ":" + PostgresServer.PASSWORD
                + "@127.0.0.1:" + PORT + "/" + PostgresServer.DATABASE + "?wakeup=poll&poll=10ms&timeout=10s");
    }

    @Test
    void aCrowdOfClientsKeepsToTheLimit() throws Exception {
        int clients = 4;
        AtomicInteger holders = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        ExecutorService threads = Executors.newFixedThreadPool(clients);
        try (SemaphoreClient administrator = client()) {
            administrator.admin().create("crowd", 2);
            List<Callable<Integer>> work = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                work.add(() -> {
                    try (SemaphoreClient client = client()) {
                        for (int round = 0; round < 10; round++) {
                            try (Permit permit = client.semaphore("crowd").acquire(PATIENCE)) {
                                most.accumulateAndGet(holders.incrementAndGet(), Math::max);
                                assertThat(permit.slot()).isBetween(1, 2);
                                holders.decrementAndGet();
                            }
                        }
                    }
                    return 1;
                });
            }
            for (Future<Integer> one : threads.invokeAll(work)) {
                assertThat(one.get()).isEqualTo(1);
            }
        } finally {
            threads.shutdown();
        }
        assertThat(most).hasValueBetween(1, 2);
        assertThat(server.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'semaphore'"))
                .as("connections of all clients to the server")
                .satisfies(count -> assertThat(Integer.parseInt(count.get(0))).isBetween(1, 2));
    }

    @Test
    void aWaiterGetsWhatAnotherClientGivesBack() throws Exception {
        try (SemaphoreClient one = client();
                SemaphoreClient other = client()) {
            one.admin().create("one", 1);
            Permit held = one.semaphore("one").acquire(PATIENCE);
            var waiting = other.semaphore("one").acquireAsync(PATIENCE);
            await("somebody waits")
                    .atMost(PATIENCE)
                    .until(() -> server.query("SELECT name FROM semaphores WHERE state LIKE '%wait %'")
                            .equals(List.of("one")));
            held.release();

            waiting.toCompletableFuture().get(10, TimeUnit.SECONDS).release();

            assertThat(other.semaphore("one").availablePermits()).isEqualTo(1);
        }
    }
}
