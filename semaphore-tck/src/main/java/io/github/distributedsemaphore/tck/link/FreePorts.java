package io.github.distributedsemaphore.tck.link;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/** Ports for servers that tests start. Thread-safe. */
public final class FreePorts {
    /** Below those that systems give to outgoing connections, which come and go between the look and the server's start. */
    private static final int LOWEST = 12_000;

    private static final int NUMBER = 20_000;
    private static final int MOST_LOOKS = 10_000;

    private FreePorts() {}

    /**
     * Chooses ports of the loopback address at random that nobody listens on now. They are not reserved; that two who start at
     * the same time choose the same one is unlikely.
     *
     * @param count how many
     * @return as many different ports
     * @throws IllegalStateException if there are not as many to be found
     */
    public static List<Integer> choose(int count) {
        Set<Integer> ports = new LinkedHashSet<>();
        for (int look = 0; ports.size() < count; look++) {
            if (look == MOST_LOOKS) {
                throw new IllegalStateException("only " + ports.size() + " of " + count + " ports are free");
            }
            int port = LOWEST + ThreadLocalRandom.current().nextInt(NUMBER);
            if (isFree(port)) {
                ports.add(port);
            }
        }
        return List.copyOf(ports);
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }
}
