package io.github.distributedsemaphore.redis.worklock;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A gate between workers and their server that knows where a command begins and ends: each is shown before the server has
 * it, and again when the server has answered and the worker has not heard. Whoever looks may wait, change the key by
 * another connection, or end the connection.
 */
final class CommandGate implements AutoCloseable {
    private static final Set<String> HANDSHAKE = Set.of("CLIENT", "HELLO", "AUTH", "SELECT", "PING", "INFO");

    private final ServerSocket listening;
    private final InetSocketAddress server;
    private final Guard guard;
    private final List<Line> lines = new CopyOnWriteArrayList<>();
    private volatile boolean shut;

    /** Looks at what passes; false ends the connection. Called by a thread for each connection. */
    interface Guard {
        boolean passes(Line line, String command, boolean answered);
    }

    CommandGate(String address, Guard guard) {
        URI uri = URI.create(address);
        this.server = new InetSocketAddress(uri.getHost(), uri.getPort());
        this.guard = guard;
        try {
            this.listening = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        thread(this::accept);
    }

    int port() {
        return listening.getLocalPort();
    }

    String uri() {
        return "redis://127.0.0.1:" + port();
    }

    /** All connections there ever were. */
    List<Line> lines() {
        return lines;
    }

    long open() {
        return lines.stream().filter(line -> !line.client.isClosed()).count();
    }

    private static void thread(Runnable task) {
        Thread thread = new Thread(task, "command gate");
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() {
        try {
            while (true) {
                Line line = new Line(listening.accept());
                lines.add(line);
                thread(line::run);
            }
        } catch (IOException e) {
            end();
        }
    }

    @Override
    public void close() {
        shut = true;
        try {
            listening.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        end();
    }

    private void end() {
        lines.forEach(Line::end);
    }

    /** One connection. */
    final class Line {
        private final Socket client;
        private final Socket upstream = new Socket();
        private final List<String> passed = new CopyOnWriteArrayList<>();

        private Line(Socket client) {
            this.client = client;
        }

        /** The commands so far, without the handshake. */
        List<String> passed() {
            return passed;
        }

        private void run() {
            try {
                client.setTcpNoDelay(true);
                upstream.setTcpNoDelay(true);
                upstream.connect(server);
                InputStream requests = new BufferedInputStream(client.getInputStream());
                InputStream replies = new BufferedInputStream(upstream.getInputStream());
                while (!shut && pass(requests, replies)) {}
            } catch (IOException e) {
                // One of them is gone.
            }
            end();
        }

        private boolean pass(InputStream requests, InputStream replies) throws IOException {
            Message request = Message.read(requests);
            String command = String.join(" ", request.words());
            boolean counts = !HANDSHAKE.contains(request.words().get(0));
            if (counts && !guard.passes(this, command, false)) {
                return false;
            }
            request.bytes().writeTo(upstream.getOutputStream());
            Message reply = Message.read(replies);
            if (counts) {
                passed.add(command);
                if (!guard.passes(this, command, true)) {
                    return false;
                }
            }
            reply.bytes().writeTo(client.getOutputStream());
            return true;
        }

        private void end() {
            try {
                client.close();
                upstream.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** A request or a reply, in the older of the two protocols. */
    private record Message(ByteArrayOutputStream bytes, List<String> words) {
        static Message read(InputStream in) throws IOException {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            List<String> words = new ArrayList<>();
            read(in, bytes, words);
            return new Message(bytes, words);
        }

        private static void read(InputStream in, ByteArrayOutputStream bytes, List<String> words) throws IOException {
            String line = line(in, bytes);
            int size = line.startsWith("$") || line.startsWith("*") ? Integer.parseInt(line.substring(1)) : -1;
            if (line.startsWith("*")) {
                for (int i = 0; i < size; i++) {
                    read(in, bytes, words);
                }
            } else if (line.startsWith("$") && size >= 0) {
                byte[] text = in.readNBytes(size + 2);
                bytes.writeBytes(text);
                words.add(new String(text, 0, size, StandardCharsets.UTF_8));
            }
        }

        private static String line(InputStream in, ByteArrayOutputStream bytes) throws IOException {
            StringBuilder line = new StringBuilder();
            for (int octet = in.read(); octet != '\n'; octet = in.read()) {
                if (octet < 0) {
                    throw new EOFException();
                }
                bytes.write(octet);
                line.append((char) octet);
            }
            bytes.write('\n');
            return line.toString().trim();
        }
    }
}
