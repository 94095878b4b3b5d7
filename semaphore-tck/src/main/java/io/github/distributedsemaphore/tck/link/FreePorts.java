package io.github.distributedsemaphore.tck.link;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Ports for servers that tests start. Each JVM that asks here has a block of its own, so that no other one takes the port of a server
 * that is being restarted. Thread-safe.
 */
public final class FreePorts {
    /** Below those that systems give to outgoing connections, which come and go between the look and the server's start. */
    private static final int LOWEST = 12_000;

    private static final int BLOCK = 100;
    /** As many ports again are above them, for nodes of clusters that talk to each other 10,000 above their own ports. */
    private static final int BLOCKS = 100;

    private static final int MOST_LOOKS = 10_000;

    /** Listens on the first port of this JVM's block for as long as the JVM lives: who cannot do that takes another block. */
    private static @Nullable ServerSocket block;

    private static int chosen;

    private FreePorts() {}

    /**
     * Chooses ports of the loopback address that nobody listens on now. Other programs may take them all the same. A port comes again
     * only after all others of the block.
     *
     * @param count how many
     * @return as many different ports
     * @throws IllegalStateException if there are not as many to be found
     */
    public static synchronized List<Integer> choose(int count) {
        Set<Integer> ports = new LinkedHashSet<>();
        for (int look = 0; ports.size() < count; look++) {
            if (look == MOST_LOOKS) {
                throw new IllegalStateException("only " + ports.size() + " of " + count + " ports are free");
            }
            int port = next();
            if (isFree(port)) {
                ports.add(port);
            }
        }
        return List.copyOf(ports);
    }

    private static int next() {
        for (int look = 0; block == null && look < MOST_LOOKS; look++) {
            block = listen(LOWEST + BLOCK * ThreadLocalRandom.current().nextInt(BLOCKS));
        }
        if (block == null) {
            throw new IllegalStateException("none of " + BLOCKS + " blocks of ports is free");
        }
        return block.getLocalPort() + 1 + chosen++ % (BLOCK - 1);
    }

    private static @Nullable ServerSocket listen(int port) {
        try {
            return new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            return null;
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = listen(port)) {
            return socket != null;
        } catch (IOException e) {
            return false;
        }
    }
}
