package io.github.distributedsemaphore.jdbc;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.tck.link.Direction;
import io.github.distributedsemaphore.tck.link.LinkFault;
import io.github.distributedsemaphore.tck.link.TcpProxy;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.h2.tools.Server;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** What becomes of a URI before there is a connection: the driver, the hosts, and the settings of TLS. */
class JdbcBackendProviderTest {
    private static final String TLS = "postgresql://localhost/app?";

    /** The JDK looks for drivers once, with the class loader of the thread that is first: not with the poor one of a test here. */
    @BeforeAll
    static void allDriversAreKnown() {
        assertThat(DriverManager.drivers()).hasAtLeastOneElementOfType(org.postgresql.Driver.class);
    }

    /** The system class loader does not have it in an executable jar of Spring Boot and in a WAR. */
    @Test
    void theDriverIsFoundThatTheClassLoaderOfTheLibraryHas() throws Exception {
        URL[] path = Stream.of(
                        SemaphoreClient.class,
                        JdbcBackendProvider.class,
                        LoggerFactory.class,
                        LoggerFactory.getILoggerFactory().getClass(),
                        org.h2.Driver.class)
                .map(type -> type.getProtectionDomain().getCodeSource().getLocation())
                .toArray(URL[]::new);
        try (URLClassLoader loader = new URLClassLoader(path, ClassLoader.getPlatformClassLoader())) {
            Class<?> type = loader.loadClass(SemaphoreClient.class.getName());
            try (AutoCloseable client =
                    (AutoCloseable) type.getMethod("connect", String.class).invoke(null, "jdbc:h2:mem:loaded")) {
                Object admin = type.getMethod("admin").invoke(client);
                Object created = type.getMethod("admin")
                        .getReturnType()
                        .getMethod("create", String.class, int.class)
                        .invoke(admin, "jobs", 1);

                assertThat(created).isEqualTo(true);
            } finally {
                loader.loadClass(org.h2.Driver.class.getName())
                        .getMethod("unload")
                        .invoke(null);
            }
        }
    }

    /** H2 creates a database with its first user, and refuses all others. */
    @Test
    void theBuilderGivesUserAndPasswordToAJdbcUrlToo() {
        try (SemaphoreClient owner = SemaphoreClient.builder("jdbc:h2:mem:owned")
                .credentials("owner", "p&ss word")
                .connect()) {
            assertThat(owner.admin().create("jobs", 1)).isTrue();
            try (SemaphoreClient other = SemaphoreClient.connect("jdbc:h2:mem:owned?user=owner&password=wrong")) {
                assertThatThrownBy(() -> other.admin().names()).isInstanceOf(BackendAccessException.class);
            }
        }
        assertThatThrownBy(() -> SemaphoreClient.builder("jdbc:h2:mem:twice?user=one")
                        .credentials("two", "secret")
                        .connect())
                .isInstanceOf(IllegalArgumentException.class);
    }

    /** H2's driver cannot abort a connection. */
    @Test
    void aCallToAnH2ServerThatIsSilentEnds() throws Exception {
        Server server = Server.createTcpServer("-tcpPort", "0", "-ifNotExists", "-tcpDaemon")
                .start();
        try (TcpProxy proxy = new TcpProxy(new InetSocketAddress(InetAddress.getLoopbackAddress(), server.getPort()));
                SemaphoreBackend backend = open("jdbc:h2:tcp://127.0.0.1:"
                        + proxy.address().getPort() + "/mem:silent;DB_CLOSE_DELAY=-1?timeout=2s")) {
            assertThat(backend.admin().create("jobs", 1)).isTrue();
            try (LinkFault silence = proxy.stall(Direction.values())) {
                CompletableFuture<?> call =
                        CompletableFuture.supplyAsync(() -> backend.admin().names());
                assertThat(call)
                        .failsWithin(backend.guarantees().callBound())
                        .withThrowableThat()
                        .withCauseInstanceOf(BackendUnavailableException.class);
                assertThat(silence.strikes()).isPositive();
            }
            assertThat(backend.admin().names()).containsExactly("jobs");
        } finally {
            server.stop();
        }
    }

    private static SemaphoreBackend open(String uri) {
        return new JdbcBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("test"));
    }

    @Test
    void aTimeOutThatAnH2UrlGivesItselfIsTaken() throws Exception {
        Server server = Server.createTcpServer("-tcpPort", "0", "-ifNotExists", "-tcpDaemon")
                .start();
        try (SemaphoreBackend backend =
                open("jdbc:h2:tcp://127.0.0.1:" + server.getPort() + "/mem:given;network_timeout=700")) {
            assertThat(backend.admin().create("jobs", 1)).isTrue();
        } finally {
            server.stop();
        }
    }

    /** Makes of it a host that drops packets: the kernel answers nobody while the queue is full. */
    private static List<Socket> filled(ServerSocket deaf) throws Exception {
        List<Socket> queue = new ArrayList<>();
        while (true) {
            Socket next = new Socket();
            queue.add(next);
            try {
                next.connect(deaf.getLocalSocketAddress(), 200);
            } catch (SocketTimeoutException full) {
                return queue;
            }
        }
    }

    /** The driver remembers for the whole process where a connection failed, even if it was for want of a password. */
    @Test
    void theSecondHostIsReachedWithinACallWhoseFirstOneDoesNotAnswer() throws Exception {
        aPasswordThatIsMissingIsAMatterOfAccess();
        PostgresServer server = PostgresServer.shared();
        try (ServerSocket deaf = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            List<Socket> queue = filled(deaf);
            String uri = server.uri("?table=second&timeout=4s")
                    .replace("@127.0.0.1:", "@127.0.0.1:" + deaf.getLocalPort() + ",127.0.0.1:");
            try (SemaphoreClient client = SemaphoreClient.connect(uri)) {
                assertThat(client.admin().create("jobs", 1)).isTrue();
            } finally {
                for (Socket one : queue) {
                    one.close();
                }
                server.execute("DROP TABLE IF EXISTS second");
            }
        }
    }

    /** The driver looks at no certificate in these modes. */
    @ParameterizedTest
    @ValueSource(strings = {"require", "prefer", "allow", "disable"})
    void certificatesThatWouldNotBeUsedAreRefused(String mode) {
        assertThatThrownBy(() -> SemaphoreClient.connect(TLS + "ca=ca.pem&sslmode=" + mode))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("Setting 'sslmode' is '" + mode + "'")
                .hasMessageContaining("verify-ca or verify-full");
    }

    @ParameterizedTest
    @CsvSource({
        "sslmode=verify_full, verify_full, verify-full",
        "ca=ca.pem&sslmode=verify_full, verify_full, verify-full",
        "ca=, '', file",
        "ca=&sslmode=verify-full, '', file"
    })
    void whatIsNoModeAndNoFileIsRefused(String settings, String value, String allowed) {
        assertThatThrownBy(() -> SemaphoreClient.connect(TLS + settings))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("is '" + value + "', it must be")
                .hasMessageContaining(allowed);
    }

    @ParameterizedTest
    @ValueSource(strings = {"sslmode=verify-full", "sslmode=require", "sslmode=disable", "ca=FILE&sslmode=verify-ca"})
    void eachModeIsTaken(String settings, @TempDir Path folder) throws IOException {
        Path file = Files.createFile(folder.resolve("ca.pem"));
        SemaphoreClient.connect(TLS + settings.replace("FILE", file.toString())).close();
    }

    @ParameterizedTest
    @CsvSource({
        "ca=FILE, must be a file that can be read",
        "certificate=FILE&key=FILE, must be a file that can be read",
        "certificate=THERE, belong together",
        "key=THERE, belong together"
    })
    void whatCannotBeReadIsRefused(String settings, String message, @TempDir Path folder) throws IOException {
        Path there = Files.createFile(folder.resolve("there"));
        String uri = TLS
                + settings.replace("FILE", folder.resolve("missing").toString()).replace("THERE", there.toString());
        assertThatThrownBy(() -> SemaphoreClient.connect(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message);
    }

    @ParameterizedTest
    @ValueSource(strings = {"db:54x2", "db:54320000", "db:65536", "db:0", "db:", "[::1", "::1", "a,,b", "a,b:x"})
    void whatIsNoHostIsRefused(String hosts) {
        assertThatThrownBy(() -> SemaphoreClient.connect("postgresql://" + hosts + "/app"))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"db", "db_1.example-a:65535", "[::1]:5432", "[fe80::1],10.0.0.1:5432", "a,b"})
    void whatIsAHostIsTaken(String hosts) {
        SemaphoreClient.connect("postgresql://" + hosts + "/app").close();
    }

    /** As a server does that can start no process for the connection. */
    @Test
    void aServerThatDoesNotComeToSpeakOfTlsIsAwayForNow() throws Exception {
        byte[] refusal = "Ecould not fork new process for connection: Cannot allocate memory\n\0".getBytes(US_ASCII);
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        CompletableFuture<Void> refusing = CompletableFuture.runAsync(() -> refuseAll(server, refusal));
        String uri = "postgresql://app:secret@127.0.0.1:" + server.getLocalPort() + "/app?sslmode=require";
        try (SemaphoreClient client = SemaphoreClient.connect(uri)) {
            assertThatThrownBy(() -> client.admin().names()).isInstanceOf(BackendUnavailableException.class);
        } finally {
            server.close();
            refusing.join();
        }
    }

    private static void refuseAll(ServerSocket server, byte[] refusal) {
        while (!server.isClosed()) {
            try (Socket client = server.accept()) {
                byte[] unused = client.getInputStream().readNBytes(8);
                client.getOutputStream().write(refusal);
            } catch (IOException e) {
                // The test is over, or the client has gone.
            }
        }
    }

    @Test
    void aPasswordThatIsMissingIsAMatterOfAccess() {
        String uri = PostgresServer.shared().uri("").replaceFirst("://([^:]+):[^@]+@", "://$1@");
        try (SemaphoreClient client = SemaphoreClient.connect(uri)) {
            assertThatThrownBy(() -> client.admin().names())
                    .isInstanceOf(BackendAccessException.class)
                    .hasMessageContaining("Correct user and password");
        }
    }
}
