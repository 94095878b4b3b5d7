package io.github.distributedsemaphore.consul;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** A link to the server that loses requests or answers when it is told to. */
final class BrokenLink implements AutoCloseable {
    private final String host;
    private final int port;
    private final ServerSocket server;
    private final Queue<String> requests = new ConcurrentLinkedQueue<>();
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final AtomicInteger answersToLose = new AtomicInteger();
    private final AtomicInteger requestsToLose = new AtomicInteger();

    BrokenLink(String address) {
        String[] parts = address.split(":", -1);
        host = parts[0];
        port = Integer.parseInt(parts[1]);
        try {
            server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(this::accept);
    }

    String address() {
        return "127.0.0.1:" + server.getLocalPort();
    }

    /** What has passed towards the server, as it came. */
    List<String> requests() {
        return List.copyOf(requests);
    }

    /** The next so many transactions reach the server, and their answers do not come back. */
    void loseAnswers(int number) {
        answersToLose.set(number);
    }

    /** The next so many transactions are accepted and do not reach the server. */
    void loseRequests(int number) {
        requestsToLose.set(number);
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task, "broken-link");
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() {
        try {
            while (true) {
                Socket client = server.accept();
                Socket upstream = new Socket(host, port);
                sockets.add(client);
                sockets.add(upstream);
                Link link = new Link(client, upstream);
                start(link::requests);
                start(link::answers);
            }
        } catch (IOException e) {
            close();
        }
    }

    private final class Link {
        private final Socket client;
        private final Socket upstream;
        private volatile boolean losing;

        Link(Socket client, Socket upstream) {
            this.client = client;
            this.upstream = upstream;
        }

        void requests() {
            pump(client, upstream, true);
        }

        void answers() {
            pump(upstream, client, false);
        }

        private void pump(Socket from, Socket to, boolean request) {
            byte[] buffer = new byte[65_536];
            try {
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream();
                for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                    if (request) {
                        String text = new String(buffer, 0, read, StandardCharsets.ISO_8859_1);
                        requests.add(text);
                        if (text.startsWith("PUT /v1/txn")) {
                            if (take(requestsToLose)) {
                                break;
                            }
                            losing = take(answersToLose);
                        }
                    } else if (losing) {
                        break;
                    }
                    out.write(buffer, 0, read);
                    out.flush();
                }
            } catch (IOException e) {
                // The other direction has closed both.
            } finally {
                end(client);
                end(upstream);
            }
        }
    }

    private static boolean take(AtomicInteger number) {
        return number.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
    }

    private static void end(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            server.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        sockets.forEach(BrokenLink::end);
    }
}
