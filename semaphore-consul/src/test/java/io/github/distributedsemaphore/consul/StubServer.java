package io.github.distributedsemaphore.consul;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A server that is no Consul: it answers every request by the same bytes, drips them, or says nothing at all. */
final class StubServer implements AutoCloseable {
    private final ServerSocket server;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final List<String> requests = new CopyOnWriteArrayList<>();
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Answer answer;

    private StubServer(Answer answer) {
        this.answer = answer;
        try {
            server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::accept);
    }

    @FunctionalInterface
    private interface Answer {
        void write(StubServer stub, OutputStream out) throws IOException, InterruptedException;
    }

    /** Answers everything with status 200 and this text. */
    static StubServer answering(String body) {
        byte[] bytes = (head(body.length()) + body).getBytes(StandardCharsets.UTF_8);
        return new StubServer((stub, out) -> out.write(bytes));
    }

    /** Begins an answer, and adds a byte ten times a second. */
    static StubServer dripping() {
        return new StubServer((stub, out) -> {
            out.write(head(100_000).getBytes(StandardCharsets.UTF_8));
            while (!stub.closed.await(100, TimeUnit.MILLISECONDS)) {
                out.write('[');
                out.flush();
            }
        });
    }

    /** Accepts requests and never answers. */
    static StubServer silent() {
        return new StubServer((stub, out) -> stub.closed.await());
    }

    private static String head(int length) {
        return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Consul-Index: 7\r\nConnection: close\r\n"
                + "Content-Length: " + length + "\r\n\r\n";
    }

    String address() {
        return "127.0.0.1:" + server.getLocalPort();
    }

    /** The first lines of the requests so far. */
    List<String> requests() {
        return requests;
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task, "stub-server");
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = server.accept();
                sockets.add(socket);
                start(() -> serve(socket));
            }
        } catch (IOException e) {
            // It was closed.
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
            String first = in.readLine();
            if (first == null) {
                return;
            }
            requests.add(first);
            for (String line = first; line != null && !line.isEmpty(); ) {
                line = in.readLine();
            }
            answer.write(this, socket.getOutputStream());
            socket.getOutputStream().flush();
        } catch (IOException e) {
            // The client has gone away.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            sockets.remove(socket);
        }
    }

    @Override
    public void close() {
        closed.countDown();
        try {
            server.close();
            for (Socket socket : sockets) {
                socket.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
