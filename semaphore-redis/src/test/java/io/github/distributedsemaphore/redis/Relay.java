package io.github.distributedsemaphore.redis;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A link between client and server that can lose replies, or keep requests back and bring them late. Connections that are
 * made afterwards are not concerned.
 */
final class Relay implements AutoCloseable {
    private enum Mode {
        PASS,
        LOSE,
        KEEP
    }

    private final ServerSocket listening;
    private volatile InetSocketAddress server;
    private final List<Line> lines = new CopyOnWriteArrayList<>();
    private volatile @Nullable Hold hold;
    private volatile @Nullable HeldReply heldReply;
    private final AtomicInteger lostBytes = new AtomicInteger();
    private final AtomicInteger refused = new AtomicInteger();
    private volatile long delayNanos;

    Relay(String address) {
        this.server = addressOf(address);
        try {
            this.listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        thread("relay accept", this::accept);
    }

    private static InetSocketAddress addressOf(String address) {
        URI uri = URI.create(address);
        return new InetSocketAddress(uri.getHost(), uri.getPort());
    }

    /** Ends the present connections; from now on it leads to another server. */
    void redirect(String address) {
        redirectNew(address);
        lines.forEach(Line::end);
    }

    /** New connections lead to another server; the present ones stay. */
    void redirectNew(String address) {
        server = addressOf(address);
    }

    int port() {
        return listening.getLocalPort();
    }

    String uri() {
        return "redis://127.0.0.1:" + listening.getLocalPort();
    }

    private static void thread(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void accept() {
        try {
            while (true) {
                Socket client = listening.accept();
                Socket upstream = new Socket();
                upstream.setTcpNoDelay(true);
                client.setTcpNoDelay(true);
                upstream.connect(server);
                lines.add(new Line(client, upstream));
            }
        } catch (IOException e) {
            lines.forEach(Line::end);
        }
    }

    /** From now on the replies of the present connections are lost. */
    void loseReplies() {
        lines.forEach(line -> line.replies = Mode.LOSE);
    }

    /** From now on the requests of the present connections are kept. */
    void keepRequests() {
        lines.forEach(line -> line.requests = Mode.KEEP);
    }

    /** Brings the requests that were kept, also of connections that the client has given up. */
    void deliverRequests() {
        lines.forEach(Line::deliver);
    }

    /** Keeps the first request from now on in which the text occurs, and what follows it; the latch says when it is there. */
    CountDownLatch holdAt(String text) {
        CountDownLatch reached = new CountDownLatch(1);
        hold = new Hold(text, reached);
        return reached;
    }

    /** Keeps what was kept, and nothing else. */
    void holdNothing() {
        hold = null;
    }

    /** Brings what was kept, and keeps nothing any more. */
    void goOn() {
        hold = null;
        lines.forEach(Line::goOn);
    }

    /** Brings what was kept, and keeps the next request in which the text occurs. */
    CountDownLatch goOnUntil(String text) {
        CountDownLatch reached = holdAt(text);
        lines.forEach(Line::goOn);
        return reached;
    }

    /** Keeps the reply to the next request in which the text occurs, and what follows it; the latch says when it is there. */
    CountDownLatch holdReplyTo(String text) {
        HeldReply held = new HeldReply(text, new CountDownLatch(1), new CountDownLatch(1));
        heldReply = held;
        return held.reached();
    }

    /** Brings the reply that was kept. */
    void bringReply() {
        HeldReply held = heldReply;
        if (held != null) {
            held.brought().countDown();
        }
    }

    /** From now on each reply comes later by so much, as if the server were far away. */
    void delayReplies(Duration by) {
        delayNanos = by.toNanos();
    }

    int lostBytes() {
        return lostBytes.get();
    }

    /** How many connections the server ended while their requests were kept. */
    int refused() {
        return refused.get();
    }

    @Override
    public void close() {
        bringReply();
        try {
            listening.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        lines.forEach(Line::end);
    }

    private record Hold(String text, CountDownLatch reached) {
        boolean isIn(byte[] buffer, int count) {
            return new String(buffer, 0, count, StandardCharsets.UTF_8).contains(text);
        }
    }

    private record HeldReply(String text, CountDownLatch reached, CountDownLatch brought) {
        boolean isAskedForBy(byte[] buffer, int count) {
            return reached.getCount() > 0 && new String(buffer, 0, count, StandardCharsets.UTF_8).contains(text);
        }
    }

    /** One connection. */
    private final class Line {
        private final Socket client;
        private final Socket upstream;
        private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
        private volatile @Nullable HeldReply awaited;
        private volatile Mode requests = Mode.PASS;
        private volatile Mode replies = Mode.PASS;

        Line(Socket client, Socket upstream) {
            this.client = client;
            this.upstream = upstream;
            thread("relay requests", this::requests);
            thread("relay replies", this::replies);
        }

        private void requests() {
            byte[] buffer = new byte[65_536];
            try {
                InputStream in = client.getInputStream();
                OutputStream out = upstream.getOutputStream();
                for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                    synchronized (kept) {
                        Hold wanted = hold;
                        if (wanted != null && wanted.isIn(buffer, count)) {
                            requests = Mode.KEEP;
                            wanted.reached().countDown();
                        }
                        HeldReply later = heldReply;
                        if (later != null && later.isAskedForBy(buffer, count)) {
                            awaited = later;
                        }
                        (requests == Mode.KEEP ? kept : out).write(buffer, 0, count);
                    }
                }
            } catch (IOException e) {
                // The client is gone; what was kept for it may still be brought.
            }
            if (requests == Mode.PASS) {
                end();
            }
        }

        void goOn() {
            synchronized (kept) {
                if (kept.size() > 0) {
                    // First, or the answers would be lost.
                    requests = Mode.PASS;
                    deliver();
                }
            }
        }

        void deliver() {
            synchronized (kept) {
                try {
                    upstream.getOutputStream().write(kept.toByteArray());
                    kept.reset();
                } catch (IOException e) {
                    if (requests == Mode.PASS) {
                        throw new UncheckedIOException(e);
                    }
                }
            }
        }

        private void replies() {
            byte[] buffer = new byte[65_536];
            try {
                InputStream in = upstream.getInputStream();
                OutputStream out = client.getOutputStream();
                for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                    HeldReply later = awaited;
                    if (later != null) {
                        later.reached().countDown();
                        later.brought().await();
                    }
                    // After requests were kept the client is gone, and its answers are of no use to anybody.
                    if (replies == Mode.PASS && requests == Mode.PASS) {
                        LockSupport.parkNanos(delayNanos);
                        out.write(buffer, 0, count);
                    } else {
                        lostBytes.addAndGet(count);
                    }
                }
                if (requests == Mode.KEEP) {
                    refused.incrementAndGet();
                }
            } catch (IOException | InterruptedException e) {
                // One of them is gone.
            }
        }

        void end() {
            try {
                client.close();
                upstream.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
