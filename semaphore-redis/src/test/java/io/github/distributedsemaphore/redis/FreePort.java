package io.github.distributedsemaphore.redis;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** Ports of the loopback address that nobody listens at, for servers of tests. */
final class FreePort {
    private static final int BUS = 10_000;
    private static final int HIGHEST = 65_535;

    private FreePort() {}

    static int any() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** For a node of a cluster, which talks to the others 10,000 above it; before Redis 7.0 that cannot be chosen. */
    static int ofNode() {
        while (true) {
            int port = BUS + ThreadLocalRandom.current().nextInt(HIGHEST - 2 * BUS);
            if (isFree(port) && isFree(port + BUS)) {
                return port;
            }
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }
}
