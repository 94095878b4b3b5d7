package io.github.distributedsemaphore.rabbitmq;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A link to the broker that can stop to carry anything, without either end being told. */
final class StallingProxy implements AutoCloseable {
    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();
    private volatile boolean stalled;

    StallingProxy() throws IOException {
        start(this::accept);
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "stalling-proxy");
        thread.setDaemon(true);
        thread.start();
    }

    String uri() {
        return "amqp://guest:guest@127.0.0.1:" + server.getLocalPort();
    }

    private void accept() {
        try {
            while (true) {
                Socket client = server.accept();
                Socket broker = new Socket(InetAddress.getLoopbackAddress(), RabbitServer.port());
                sockets.add(client);
                sockets.add(broker);
                start(() -> carry(client, broker));
                start(() -> carry(broker, client));
            }
        } catch (IOException e) {
            stalled = true; // closed
        }
    }

    private void carry(Socket from, Socket to) {
        try (InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream()) {
            byte[] buffer = new byte[8_192];
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                if (!stalled) {
                    out.write(buffer, 0, read);
                }
            }
        } catch (IOException e) {
            stalled |= server.isClosed();
        }
    }

    /** From now on nothing passes. */
    void stall() {
        stalled = true;
    }

    @Override
    public void close() throws IOException {
        server.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
