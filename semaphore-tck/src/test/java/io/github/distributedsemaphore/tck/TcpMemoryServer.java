package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.tck.run.Pause;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The listening end of {@link TcpLink}: a port that can be closed and opened again. */
final class TcpMemoryServer implements AutoCloseable {
    private static final long PATIENCE_NANOS = 10_000_000_000L;

    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private int port;
    private ServerSocket listening;

    TcpMemoryServer() {
        start();
    }

    synchronized void start() {
        try {
            listening = listen(port);
            port = listening.getLocalPort();
            ServerSocket accepting = listening;
            thread(() -> accept(accepting));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A port that was just closed may be taken for another moment, until the thread that accepted has let go of it. */
    private static ServerSocket listen(int port) throws IOException {
        for (long start = System.nanoTime(); ; Pause.millis(5)) {
            try {
                return new ServerSocket(port, 50, InetAddress.getLoopbackAddress());
            } catch (BindException e) {
                if (System.nanoTime() - start > PATIENCE_NANOS) {
                    throw e;
                }
            }
        }
    }

    private static void thread(Runnable body) {
        Thread thread = new Thread(body, "tck-proxy memory");
        thread.setDaemon(true);
        thread.start();
    }

    synchronized InetSocketAddress address() {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    }

    synchronized boolean isRunning() {
        return !listening.isClosed();
    }

    private void accept(ServerSocket accepting) {
        while (!accepting.isClosed()) {
            try {
                Socket socket = accepting.accept();
                sockets.add(socket);
                thread(() -> serve(socket));
            } catch (IOException e) {
                if (!accepting.isClosed()) {
                    throw new UncheckedIOException(e);
                }
            }
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            socket.setTcpNoDelay(true);
            DataInputStream in = new DataInputStream(socket.getInputStream());
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            for (long number = in.readLong(); isRunning() && TcpLink.work(number); number = in.readLong()) {
                out.writeLong(number);
            }
        } catch (IOException e) {
            // The client is gone, or the server was stopped.
        } finally {
            sockets.remove(socket);
        }
    }

    /** Nobody is served any more. */
    @Override
    public synchronized void close() {
        try {
            listening.close();
            for (Socket socket : sockets) {
                socket.setSoLinger(true, 0);
                socket.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
