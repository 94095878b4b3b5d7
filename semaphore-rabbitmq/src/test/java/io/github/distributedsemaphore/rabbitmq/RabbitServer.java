package io.github.distributedsemaphore.rabbitmq;

import java.nio.file.Path;
import java.util.List;

/**
 * The broker of a test JVM: the one whose address is given by the system property {@code rabbitmq.uri} or the environment
 * variable {@code RABBITMQ_URI}, else one of our own, which ends with the JVM.
 */
public final class RabbitServer {
    private static final String GIVEN =
            System.getProperty("rabbitmq.uri", System.getenv().getOrDefault("RABBITMQ_URI", ""));

    private static RabbitNode node;

    private RabbitServer() {}

    /**
     * The broker, for what only the process that started it can do. Started when it is wanted first, and tried again by the next
     * test if that failed.
     */
    static synchronized RabbitNode node() {
        if (node == null) {
            node = start();
        } else if (!node.isRunning()) {
            // A test killed it and could not start it again in time: that is not to cost all tests after it.
            node.restart();
        }
        return node;
    }

    private static RabbitNode start() {
        if (!RabbitNode.isInstalled()) {
            throw new IllegalStateException(
                    "There is no broker to test with: install one (Debian: apt-get install rabbitmq-server; it need"
                            + " not run), or name one by -Drabbitmq.uri=amqp://user:password@host:port");
        }
        return RabbitNode.start();
    }

    /** The address, without settings. */
    public static String uri() {
        return isOurs() ? node().uri() : GIVEN;
    }

    static int port() {
        return Integer.parseInt(uri().replaceAll(".*:(\\d+).*", "$1"));
    }

    static int tlsPort() {
        return node().tlsPort();
    }

    /** What to trust on {@link #tlsPort}. */
    static Path certificate() {
        return node().certificate();
    }

    /** Its private key. */
    static Path key() {
        return node().key();
    }

    /** Kills the broker and starts it again with its data. */
    static void killAndRestart() {
        RabbitNode running = node();
        running.kill();
        running.restart();
    }

    static void plugin(String change, String plugin) {
        node().plugin(change, plugin);
    }

    /** Tells whether it is a broker of our own, on which {@link #ctl} and {@link #eval} work. */
    static boolean isOurs() {
        return GIVEN.isEmpty();
    }

    static String ctl(String... arguments) {
        return node().ctl(arguments);
    }

    static String eval(String expression) {
        return node().eval(expression);
    }

    static List<String> queues() {
        return node().queues();
    }

    static void delete(String queue) {
        node().delete(queue);
    }
}
