package io.github.distributedsemaphore.tck.link;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Each fault does what it says, is counted, and is an error if it did nothing. */
class TcpProxyTest {
    private static final int SOON = 20_000;
    private static final int QUIET = 100;

    private final List<Socket> clients = new ArrayList<>();
    private LineServer server;
    private TcpProxy proxy;

    @BeforeEach
    void start() throws IOException {
        server = new LineServer();
        proxy = new TcpProxy(server.address());
    }

    @AfterEach
    void end() throws IOException {
        for (Socket client : clients) {
            client.close();
        }
        proxy.close();
        server.close();
    }

    private Socket connect() throws IOException {
        Socket client = new Socket(proxy.address().getAddress(), proxy.address().getPort());
        client.setSoTimeout(SOON);
        client.setTcpNoDelay(true);
        clients.add(client);
        return client;
    }

    private Socket connected() throws IOException {
        Socket client = connect();
        assertThat(ask(client, "hello")).isEqualTo("HELLO");
        return client;
    }

    private static void say(Socket client, String text) throws IOException {
        client.getOutputStream().write((text + "\n").getBytes(StandardCharsets.ISO_8859_1));
    }

    private static String read(Socket client) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = client.getInputStream().read();
                next != '\n';
                next = client.getInputStream().read()) {
            if (next < 0) {
                return line + "<end>";
            }
            line.append((char) next);
        }
        return line.toString();
    }

    private static String ask(Socket client, String text) throws IOException {
        say(client, text);
        return read(client);
    }

    private static void assertSilent(Socket client) throws IOException {
        client.setSoTimeout(QUIET);
        assertThatThrownBy(() -> read(client)).isInstanceOf(SocketTimeoutException.class);
        client.setSoTimeout(SOON);
    }

    /** What passed may have been answered before the connection was reset. */
    private static void assertCutAfter(Socket client, String text) {
        assertThatThrownBy(() -> {
                    say(client, text);
                    for (String line = read(client); !line.endsWith("<end>"); line = read(client)) {
                        assertThat(text.toUpperCase(Locale.ROOT)).contains(line);
                    }
                })
                .isInstanceOf(SocketException.class);
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        for (long start = System.nanoTime(); !condition.getAsBoolean(); Thread.sleep(1)) {
            assertThat(System.nanoTime() - start).isLessThan(SOON * 1_000_000L);
        }
    }

    private static void assertReset(Socket client) {
        assertThatThrownBy(() -> ask(client, "anybody there")).isInstanceOf(SocketException.class);
    }

    @Test
    void carriesBytesAndCounts() throws Exception {
        Socket client = connected();
        assertThat(ask(client, "x".repeat(100_000))).isEqualTo("X".repeat(100_000));
        assertThat(proxy.bytes(Direction.REQUESTS)).isEqualTo(100_007);
        assertThat(proxy.bytes(Direction.ANSWERS)).isEqualTo(100_007);
        assertThat(proxy.openConnections()).isEqualTo(1);
        assertThat(proxy.attempts()).isEqualTo(1);
    }

    @Test
    void passesTheEndOfEitherSideOn() throws Exception {
        Socket client = connected();
        say(client, "last words");
        client.shutdownOutput();
        assertThat(read(client)).isEqualTo("LAST WORDS");
        assertThat(read(client)).isEqualTo("<end>");
        await(() -> server.heard.contains("<end>") && proxy.openConnections() == 0);
    }

    @Test
    void passesAResetOn() throws Exception {
        Socket client = connected();
        client.setSoLinger(true, 0);
        client.close();
        await(() -> server.heard.contains("<reset>") && proxy.openConnections() == 0);
    }

    @Test
    void aClientIsResetWhenTheServerIsNotThere() throws Exception {
        proxy.leadTo(nobody());
        assertReset(connect());
        proxy.leadTo(server.address());
        connected();
    }

    private static InetSocketAddress nobody() throws IOException {
        try (ServerSocket closed = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return new InetSocketAddress(closed.getInetAddress(), closed.getLocalPort());
        }
    }

    @Test
    void aCutResetsBothEnds() throws Exception {
        Socket client = connected();
        assertThat(proxy.cut(Ending.RESET)).isEqualTo(1);
        assertReset(client);
        await(() -> server.heard.contains("<reset>"));
        connected();
    }

    @Test
    void aCutCanBeInOrder() throws Exception {
        Socket client = connected();
        assertThat(proxy.cut(Ending.FINISH)).isEqualTo(1);
        assertThat(read(client)).isEqualTo("<end>");
        await(() -> server.heard.contains("<end>"));
    }

    @Test
    void aCutOfNothingIsAnError() {
        assertThatThrownBy(() -> proxy.cut(Ending.RESET))
                .isInstanceOf(FaultMissedException.class)
                .hasMessageContaining("no connection to cut on the link to")
                .hasMessageContaining("0 connections");
    }

    @Test
    void refusesNewConnectionsAndLeavesOldOnes() throws Exception {
        Socket old = connected();
        try (LinkFault refusal = proxy.refuse()) {
            assertReset(connect());
            assertReset(connect());
            assertThat(ask(old, "still there")).isEqualTo("STILL THERE");
            assertThat(refusal.strikes()).isEqualTo(2);
        }
        connected();
    }

    @Test
    void aStallOfRequestsKeepsThemAndBringsThemLate() throws Exception {
        Socket client = connected();
        try (LinkFault stall = proxy.stall(Direction.REQUESTS)) {
            say(client, "late");
            await(() -> stall.strikes() > 0);
            client.close();
            assertThat(server.heard).containsExactly("hello");
        }
        await(() -> server.heard.contains("late") && server.heard.contains("<end>"));
    }

    @Test
    void aStallOfAnswersKeepsThemAndBringsThemLate() throws Exception {
        Socket client = connected();
        try (LinkFault stall = proxy.stall(Direction.ANSWERS)) {
            say(client, "question");
            await(() -> stall.strikes() > 0);
            assertThat(server.heard).contains("question");
            assertSilent(client);
        }
        assertThat(read(client)).isEqualTo("QUESTION");
    }

    @Test
    void aStallConcernsNewConnectionsToo() throws Exception {
        try (LinkFault stall = proxy.stall()) {
            Socket client = connect();
            say(client, "hello");
            await(() -> stall.strikes() > 0);
            assertThat(server.heard).isEmpty();
        }
        await(() -> server.heard.contains("hello"));
    }

    @Test
    void whatIsLostOneWayStaysLostAndTheConnectionIsResetInTheEnd() throws Exception {
        Socket client = connected();
        Socket idle = connected();
        try (LinkFault loss = proxy.lose(Direction.ANSWERS)) {
            say(client, "question");
            await(() -> loss.strikes() > 0);
            assertThat(server.heard).contains("question");
            assertSilent(client);
        }
        assertReset(client);
        assertThat(ask(idle, "and you")).isEqualTo("AND YOU");
    }

    @Test
    void theNthAnswerIsLostWithAReset() throws Exception {
        Socket client = connected();
        try (LinkFault fault = proxy.loseAnswer(2, Ending.RESET)) {
            assertThat(ask(client, "one")).isEqualTo("ONE");
            assertThatThrownBy(() -> ask(client, "two")).isInstanceOf(SocketException.class);
            assertThat(fault.strikes()).isEqualTo(1);
            connected();
        }
        assertThat(server.heard).contains("two");
    }

    @Test
    void theNthAnswerIsLostInSilence() throws Exception {
        Socket client = connected();
        try (LinkFault fault = proxy.loseAnswer(1, Ending.SILENCE)) {
            say(client, "one");
            await(() -> fault.strikes() > 0);
            assertSilent(client);
            say(client, "two");
            await(() -> server.heard.containsAll(List.of("one", "two")));
            assertSilent(client);
        }
        assertReset(client);
    }

    @Test
    void theAnswerToACertainRequestIsLost() throws Exception {
        Socket client = connected();
        Socket other = connected();
        try (LinkFault fault = proxy.loseAnswerTo("EXEC", Ending.FINISH)) {
            assertThat(ask(client, "PING")).isEqualTo("PING");
            say(client, "MULTI EXEC");
            assertThat(read(client)).isEqualTo("<end>");
            assertThat(ask(other, "PING")).isEqualTo("PING");
            assertThat(fault.strikes()).isEqualTo(1);
        }
        assertThat(server.heard).contains("MULTI EXEC");
    }

    @Test
    void aRequestIsHeldWhileOtherConnectionsGoOnAndArrivesAfterItsClientHasGone() throws Exception {
        Socket client = connected();
        try (LinkFault late = proxy.holdRequest(2)) {
            assertThat(ask(client, "one")).isEqualTo("ONE");
            say(client, "two");
            await(() -> late.strikes() > 0);
            Socket other = connected();
            assertThat(ask(other, "three")).isEqualTo("THREE");
            client.setSoLinger(true, 0);
            client.close();
            assertThat(server.heard).contains("three").doesNotContain("two");
        }
        await(() -> server.heard.contains("two"));
    }

    @Test
    void cutsAfterSoManyBytesAndWhatPassedArrives() throws Exception {
        Socket client = connected();
        try (LinkFault fault = proxy.cutAfter(Direction.REQUESTS, 6)) {
            assertCutAfter(client, "abc\ndef\nghi");
            assertThat(fault.strikes()).isEqualTo(1);
        }
        await(() -> server.heard.contains("de"));
        assertThat(server.heard).contains("abc").doesNotContain("ghi");
    }

    @Test
    void cutsAfterATextThatComesInPieces() throws Exception {
        Socket client = connected();
        try (LinkFault fault = proxy.cutAfter(Direction.REQUESTS, "commit\n")) {
            client.getOutputStream().write("begin\ncomm".getBytes(StandardCharsets.ISO_8859_1));
            assertThat(read(client)).isEqualTo("BEGIN");
            assertCutAfter(client, "it\nanybody there");
            assertThat(fault.strikes()).isEqualTo(1);
        }
        await(() -> server.heard.contains("commit"));
        assertThat(server.heard).doesNotContain("anybody there");
    }

    @Test
    void cutsAnAnswerShort() throws Exception {
        Socket client = connected();
        try (LinkFault fault = proxy.cutAfter(Direction.ANSWERS, 3)) {
            assertThatThrownBy(() -> ask(client, "question")).isInstanceOf(SocketException.class);
            assertThat(fault.strikes()).isEqualTo(1);
        }
        assertThat(server.heard).contains("question");
    }

    @Test
    void delaysBothWays() throws Exception {
        Socket client = connected();
        try (LinkFault delay = proxy.delay(Duration.ofMillis(30), Duration.ofMillis(40), new Random(1))) {
            long start = System.nanoTime();
            assertThat(ask(client, "slow")).isEqualTo("SLOW");
            assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(60_000_000);
            assertThat(delay.strikes()).isEqualTo(2);
        }
    }

    @Test
    void throttles() throws Exception {
        Socket client = connected();
        try (LinkFault fault = proxy.throttle(10_000, Direction.REQUESTS)) {
            long start = System.nanoTime();
            assertThat(ask(client, "x".repeat(499))).hasSize(499);
            assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(50_000_000);
            assertThat(fault.strikes()).isEqualTo(1);
        }
    }

    @Test
    void aFaultThatDidNotStrikeIsAnError() throws Exception {
        connected();
        LinkFault fault = proxy.stall(Direction.ANSWERS);
        assertThatThrownBy(fault::close)
                .isInstanceOf(FaultMissedException.class)
                .hasMessageContaining("the fault 'stall of [ANSWERS]' had no effect on the link to")
                .hasMessageContaining("1 connections, 1 of them open");
        assertThat(proxy.refuse().heal()).isZero();
    }

    @Test
    void closingLetsGoOfWhatIsHeld() throws Exception {
        Socket client = connected();
        LinkFault stall = proxy.stall();
        say(client, "held");
        await(() -> stall.strikes() > 0);
        proxy.close();
        assertReset(client);
    }
}
