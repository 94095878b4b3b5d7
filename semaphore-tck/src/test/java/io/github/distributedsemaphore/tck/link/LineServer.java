package io.github.distributedsemaphore.tck.link;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;

/** Answers each line with the same in capitals, and remembers what it heard and how it ended. */
final class LineServer implements AutoCloseable {
    final List<String> heard = new CopyOnWriteArrayList<>();
    private final ServerSocket listening;
    private final List<Socket> sockets = new CopyOnWriteArrayList<>();

    LineServer() throws IOException {
        listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        start(this::accept);
    }

    private static void start(Runnable body) {
        Thread thread = new Thread(body, "line-server");
        thread.setDaemon(true);
        thread.start();
    }

    InetSocketAddress address() {
        return new InetSocketAddress(listening.getInetAddress(), listening.getLocalPort());
    }

    private void accept() {
        while (!listening.isClosed()) {
            try {
                Socket socket = listening.accept();
                sockets.add(socket);
                start(() -> serve(socket));
            } catch (IOException e) {
                if (!listening.isClosed()) {
                    throw new UncheckedIOException(e);
                }
            }
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                heard.add(line);
                String answer = line.toUpperCase(Locale.ROOT) + "\n";
                socket.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
            }
            heard.add("<end>");
        } catch (IOException e) {
            heard.add("<reset>");
        }
    }

    @Override
    public void close() throws IOException {
        listening.close();
        for (Socket socket : sockets) {
            socket.close();
        }
    }
}
