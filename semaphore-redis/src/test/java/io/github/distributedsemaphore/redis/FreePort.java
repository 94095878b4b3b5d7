package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** Ports of the loopback address that nobody listens at, for servers of tests. */
final class FreePort {
    private static final int BUS = 10_000;

    private FreePort() {}

    static int any() {
        return FreePorts.choose(1).get(0);
    }

    /** For a node of a cluster, which talks to the others 10,000 above it; before Redis 7.0 that cannot be chosen. */
    static int ofNode() {
        int port = any();
        while (!isFree(port + BUS)) {
            port = any();
        }
        return port;
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }
}
