package io.github.distributedsemaphore.tck.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real hosts on this machine, whose packets are lost. */
class NetworkTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    @TempDir
    private Path folder;

    private Network network;
    private Host one;
    private Host other;

    @BeforeEach
    void makeHosts() {
        Optional<String> absent = Network.absent();
        assumeTrue(absent.isEmpty(), () -> absent.orElse(""));
        network = new Network();
        one = network.add("one");
        other = network.add("other");
    }

    @AfterEach
    void removeHosts() {
        if (network != null) {
            network.close();
        }
    }

    private static List<String> java(String... arguments) {
        List<String> command = new java.util.ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                Path.of("target", "test-classes").toString(),
                Datagrams.class.getName()));
        command.addAll(List.of(arguments));
        return command;
    }

    private Node listener(Host host) {
        Node listener = new Node(host, folder.resolve(host.name()), List.of(java()), Map.of());
        listener.start();
        awaitLines(listener, "listening");
        return listener;
    }

    private static void awaitLines(Node listener, String... lines) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (listener.log().lines().count() < lines.length && System.nanoTime() - end < 0) {
            Thread.onSpinWait();
        }
        assertThat(listener.log().lines()).containsExactly(lines);
    }

    private static void send(Host from, Host to, String text) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(from.command(java(to.address(), text)))
                .inheritIO()
                .start();
        assertThat(process.waitFor()).isZero();
    }

    @Test
    void whatIsLostInOneDirectionArrivesInTheOtherAndEverythingDoesAfterHealing() throws Exception {
        Node here = listener(one);
        Node there = listener(other);
        send(one, other, "before");
        network.lose(List.of(one), List.of(other));
        send(one, other, "lost");
        send(other, one, "back");
        awaitLines(here, "listening", "back");
        network.heal();
        // Packets between two hosts do not overtake each other: had the lost one been only late, it would be there now.
        send(one, other, "after");
        awaitLines(there, "listening", "before", "after");
    }

    @Test
    void separatedHostsReachAThirdOne() throws Exception {
        Host third = network.add("third");
        Node there = listener(third);
        Node here = listener(one);
        network.separate(List.of(one), List.of(other));
        send(other, one, "lost");
        send(other, third, "from other");
        awaitLines(there, "listening", "from other");
        send(one, third, "from one");
        awaitLines(there, "listening", "from other", "from one");
        assertThat(here.log().lines()).containsExactly("listening");
    }

    @Test
    void aNodeIsSuspendedAndGoesOnAndIsKilledAndLosesItsData() throws Exception {
        Node node = listener(one);
        Path data = Files.writeString(folder.resolve("one").resolve("data").resolve("file"), "stored");
        assertThatThrownBy(node::wipe).isInstanceOf(IllegalStateException.class).hasMessageContaining("one runs");
        node.suspend();
        send(other, one, "while suspended");
        assertThat(node.isRunning()).isTrue();
        assertThat(node.log().lines()).containsExactly("listening");
        node.resume();
        awaitLines(node, "listening", "while suspended");
        node.kill();
        assertThat(node.isRunning()).isFalse();
        assertThat(data).exists();
        node.wipe();
        assertThat(data).doesNotExist();
        node.start();
        assertThat(node.isRunning()).isTrue();
    }

    @Test
    void closingEndsTheProcessesAndRemovesTheHosts() throws Exception {
        Process left = new ProcessBuilder(one.command(List.of("sh", "-c", "echo here; exec sleep 1000"))).start();
        // Before that it may not be on the host.
        assertThat(left.inputReader().readLine()).isEqualTo("here");
        network.close();
        assertThat(left.onExit()).succeedsWithin(PATIENCE);
        assertThat(namespaces()).doesNotContain(one.namespace(), other.namespace());
    }

    @Test
    void aNetworkOfAJvmThatWasKilledIsRemovedByTheNextOne() throws Exception {
        Process dead = new ProcessBuilder("true").start();
        dead.waitFor();
        String stale = "semaphore-" + dead.pid() + "-7-left";
        assertThat(new ProcessBuilder("ip", "netns", "add", stale).start().waitFor())
                .isZero();
        assertThat(namespaces()).contains(stale);
        try (Network next = new Network()) {
            assertThat(namespaces()).doesNotContain(stale).contains(one.namespace());
            assertThat(next.add("one").address()).isNotEqualTo(one.address());
        }
    }

    private static String namespaces() throws IOException {
        return new String(
                new ProcessBuilder("ip", "netns", "list")
                        .start()
                        .getInputStream()
                        .readAllBytes(),
                java.nio.charset.StandardCharsets.US_ASCII);
    }
}
