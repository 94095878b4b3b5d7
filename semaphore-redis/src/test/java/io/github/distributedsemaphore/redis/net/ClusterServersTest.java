package io.github.distributedsemaphore.redis.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.redis.net.ServerSettings.Credentials;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is learned from a node that sends us elsewhere, and from what nodes say of the whole cluster. */
class ClusterServersTest {
    private static final HostAndPort ASKED = new HostAndPort("asked.example", 7000);
    private static final String KEY = "job";
    private static final HostAndPort OWNER = new HostAndPort("127.0.0.1", 7001);
    private static final String ALL_SLOTS = "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:7001\r\n";
    private static final String NO_SLOTS = "*0\r\n";
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    /** Its slot is one of the middle, which is missing longest while a picture is replaced. */
    private static final String MIDDLE = "z";

    private static final int ROUNDS = 200;

    private final RedisConnector connector =
            new RedisConnector(ServerSettings.from(BackendUri.parse("redis-cluster://asked.example:7000"), PATIENCE));
    private final ClusterServers servers = new ClusterServers(connector, List.of(), Credentials.NONE);

    @AfterEach
    void close() throws Exception {
        connector.close(Duration.ofSeconds(2), Deadline.after(System.nanoTime(), Duration.ofSeconds(4)));
    }

    private boolean hearsMoved(String where) {
        return servers.isElsewhere("MOVED " + ClusterServers.slotOf(KEY) + " " + where, ASKED);
    }

    @ParameterizedTest
    @CsvSource({
        "10.0.0.1:7001, 10.0.0.1, 7001",
        "::1:7001, ::1, 7001",
        "2001:db8::1:7001, 2001:db8::1, 7001",
        "[::1]:7001, ::1, 7001",
        ":7001, asked.example, 7001",
        "?:7001, asked.example, 7001"
    })
    void theOwnerOfASlotIsUnderstood(String where, String host, int port) {
        assertThat(hearsMoved(where)).isTrue();
        assertThat(servers.serverOf(KEY)).isCompletedWithValue(new HostAndPort(host, port));
    }

    /** Run in a JVM of its own. */
    static final class TellSlot {
        private TellSlot() {}

        public static void main(String[] args) {
            System.out.println(ClusterServers.slotOf("auftr\u00e4ge"));
        }
    }

    /** Such as one in a container, where no language is set. */
    @ParameterizedTest
    @ValueSource(strings = {"UTF-8", "ISO-8859-1", "US-ASCII"})
    void theCharsetOfTheJvmChangesNoSlot(String charset) throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-Dfile.encoding=" + charset,
                        "-cp",
                        System.getProperty("java.class.path"),
                        TellSlot.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String told = new String(process.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);

        assertThat(told.strip()).as("what CLUSTER KEYSLOT says too").isEqualTo("1065");
    }

    /** Each answer replaced what was known in two steps, on the thread of its connection, and one fell between those of the other. */
    @Test
    void overlappingLooksBothFindTheOwner() throws Exception {
        CyclicBarrier both = new CyclicBarrier(2);
        try (FakeNode node = new FakeNode(ALL_SLOTS, both::await)) {
            ClusterServers looking = new ClusterServers(connector, List.of(node.address()), Credentials.NONE);
            for (int i = 0; i < ROUNDS; i++) {
                CompletableFuture<HostAndPort> one = looking.serverOf(MIDDLE);
                CompletableFuture<HostAndPort> other = looking.serverOf(MIDDLE);
                assertThat(one).succeedsWithin(PATIENCE).isEqualTo(OWNER);
                assertThat(other).succeedsWithin(PATIENCE).isEqualTo(OWNER);
                looking.forget(OWNER);
            }
        }
    }

    @Test
    void aNodeThatKnowsNoSlotsDoesNotAnswerForTheOthers() throws Exception {
        CountDownLatch refused = new CountDownLatch(1);
        try (FakeNode reset = new FakeNode(NO_SLOTS, () -> {});
                FakeNode node = new FakeNode(ALL_SLOTS, refused::await)) {
            ClusterServers looking =
                    new ClusterServers(connector, List.of(reset.address(), node.address()), Credentials.NONE);
            CompletableFuture<HostAndPort> found = looking.serverOf(KEY);
            assertThat(reset.closed().await(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            refused.countDown();

            assertThat(found).succeedsWithin(PATIENCE).isEqualTo(OWNER);
        }
    }

    @Test
    void anAnswerWithoutSlotsLeavesWhatIsKnown() throws Exception {
        try (FakeNode reset = new FakeNode(NO_SLOTS, () -> {})) {
            ClusterServers looking = new ClusterServers(connector, List.of(reset.address()), Credentials.NONE);
            String known = "MOVED " + ClusterServers.slotOf(KEY) + " " + reset.address();
            assertThat(looking.isElsewhere(known, ASKED)).isTrue();

            assertThat(looking.serverOf(MIDDLE))
                    .failsWithin(PATIENCE)
                    .withThrowableOfType(ExecutionException.class)
                    .withMessageContaining(
                            "knows no node of the cluster with the hash slot " + ClusterServers.slotOf(MIDDLE));
            assertThat(looking.serverOf(KEY)).isCompletedWithValue(reset.address());
        }
    }

    /** Its peers have called another node the owner since. The one that was cut off with it answers first. */
    @Test
    void aNodeThatSaysThatTheClusterIsDownIsNotBelieved() throws Exception {
        CountDownLatch answered = new CountDownLatch(1);
        try (FakeNode cut = new FakeNode(ALL_SLOTS, () -> {});
                FakeNode node = new FakeNode(ALL_SLOTS.replace("7001", "7002"), answered::await)) {
            ClusterServers looking =
                    new ClusterServers(connector, List.of(cut.address(), node.address()), Credentials.NONE);
            String moved = "MOVED " + ClusterServers.slotOf(KEY) + " " + OWNER;
            assertThat(looking.isElsewhere(moved, ASKED)).isTrue();
            CountDownLatch left = new CountDownLatch(1);
            looking.doubt("CLUSTERDOWN The cluster is down", OWNER, left::countDown);
            assertThat(left.getCount()).isZero();
            CompletableFuture<HostAndPort> found = looking.serverOf(KEY);
            assertThat(cut.closed().await(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
            assertThat(found).isNotDone();
            answered.countDown();

            assertThat(found).succeedsWithin(PATIENCE).isEqualTo(new HostAndPort("127.0.0.1", 7002));
        }
    }

    /** As when all of the cluster was down for a moment. */
    @Test
    void aNodeThatSaidThatTheClusterIsDownIsGoneBackToIfThereIsNoOther() throws Exception {
        try (FakeNode node = new FakeNode(ALL_SLOTS, () -> {})) {
            ClusterServers looking = new ClusterServers(connector, List.of(node.address()), Credentials.NONE);
            looking.doubt("CLUSTERDOWN The cluster is down", OWNER, () -> {});
            looking.doubt("CLUSTERDOWN The cluster is down", node.address(), () -> {});

            assertThat(looking.serverOf(KEY)).succeedsWithin(PATIENCE).isEqualTo(OWNER);
        }
    }

    /** What a node waits for before it answers. */
    @FunctionalInterface
    private interface Gate {
        void pass() throws Exception;
    }

    /** A node that answers one question on each connection. */
    private static final class FakeNode implements AutoCloseable {
        private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final ExecutorService threads = Executors.newCachedThreadPool();
        private final CountDownLatch closed = new CountDownLatch(1);

        FakeNode(String slots, Gate gate) throws IOException {
            Future<?> accepting = threads.submit(() -> {
                while (true) {
                    Socket socket = listening.accept();
                    Future<?> unused = threads.submit(() -> {
                        serve(socket, slots, gate);
                        return null;
                    });
                }
            });
            assertThat(accepting).isNotDone();
        }

        private void serve(Socket socket, String slots, Gate gate) throws Exception {
            try (socket;
                    BufferedReader lines = new BufferedReader(
                            new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    boolean asked = false;
                    for (int i = 2 * Integer.parseInt(line.substring(1)); i > 0; i--) {
                        asked |= lines.readLine().equals("SLOTS");
                    }
                    if (asked) {
                        gate.pass();
                    }
                    // The client library introduces itself first.
                    String answer = asked ? slots : "+OK\r\n";
                    socket.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
                }
            } finally {
                closed.countDown();
            }
        }

        HostAndPort address() {
            return new HostAndPort("127.0.0.1", listening.getLocalPort());
        }

        /** Comes down when the first client has read its answer. */
        CountDownLatch closed() {
            return closed;
        }

        @Override
        public void close() throws IOException {
            listening.close();
            threads.shutdownNow();
        }
    }

    @Test
    void anOwnerThatMakesNoSenseIsAskedForAgain() {
        hearsMoved(ASKED.toString());
        assertThat(hearsMoved("nowhere:at-all")).isTrue();
        assertThat(servers.serverOf(KEY)).isNotCompleted();
    }
}
