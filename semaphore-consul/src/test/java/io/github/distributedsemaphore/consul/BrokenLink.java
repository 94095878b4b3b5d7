package io.github.distributedsemaphore.consul;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A link to the server that loses requests or answers when it is told to. */
final class BrokenLink implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String TRANSACTION = "PUT /v1/txn";

    private static final byte[] SERVER_ERROR =
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    private final String host;
    private final int port;
    private final ServerSocket server;
    private final Queue<String> requests = new ConcurrentLinkedQueue<>();
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final AtomicInteger answersToLose = new AtomicInteger();
    private final AtomicInteger requestsToLose = new AtomicInteger();
    private final AtomicInteger answersToSpoil = new AtomicInteger();
    private final AtomicReference<@Nullable LateRequest> toHold = new AtomicReference<>();
    private final AtomicReference<@Nullable String> toLose = new AtomicReference<>();
    private final AtomicReference<@Nullable Rival> rival = new AtomicReference<>();

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

    /** The next so many transactions are done by the server, and answered as if it had failed. */
    void spoilAnswers(int number) {
        answersToSpoil.set(number);
    }

    /** The next so many transactions are accepted and do not reach the server. */
    void loseRequests(int number) {
        requestsToLose.set(number);
    }

    /** All requests that begin like this are accepted and do not reach the server; null ends that. */
    void loseRequestsTo(@Nullable String start) {
        toLose.set(start);
    }

    /** Something is done before each transaction gets to the server; null ends that. */
    void overtakeTransactions(@Nullable Runnable change) {
        rival.set(change == null ? null : new Rival(TRANSACTION, change));
    }

    /** Something is done before each request that begins like this gets to the server. */
    void overtake(String start, Runnable change) {
        rival.set(new Rival(start, change));
    }

    private record Rival(String start, Runnable change) {}

    /** Keeps the next transaction with this text in its body: the server gets it late, when its client has given up. */
    LateRequest hold(String text) {
        LateRequest late = new LateRequest(text);
        toHold.set(late);
        return late;
    }

    /** One that is kept. */
    static final class LateRequest {
        private final String text;
        private final CountDownLatch arrived = new CountDownLatch(1);
        private final CountDownLatch givenUp = new CountDownLatch(1);
        private final CountDownLatch letGo = new CountDownLatch(1);
        private final CountDownLatch answered = new CountDownLatch(1);

        private LateRequest(String text) {
            this.text = text;
        }

        /** Until it was sent: its client waits for the answer. */
        void awaitArrival() throws InterruptedException {
            assertThat(arrived.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        }

        void awaitGivenUp() throws InterruptedException {
            assertThat(givenUp.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        }

        /** Has the server do it now. */
        void letGo() throws InterruptedException {
            letGo.countDown();
            assertThat(answered.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)).isTrue();
        }
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
        private volatile boolean spoiling;
        private volatile @Nullable LateRequest late;

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

        /** Whether a request is to reach the server. */
        private boolean passes(String text) {
            requests.add(text);
            String lost = toLose.get();
            if (lost != null && text.startsWith(lost)) {
                return false;
            }
            if (text.startsWith(TRANSACTION)) {
                if (take(requestsToLose)) {
                    return false;
                }
                losing = take(answersToLose);
                spoiling = take(answersToSpoil);
            }
            Rival present = rival.get();
            if (present != null && text.startsWith(present.start())) {
                present.change().run();
            }
            return true;
        }

        private void holdIfLate(String text, InputStream in) throws InterruptedException {
            LateRequest wanted = toHold.get();
            if (wanted != null && text.contains(wanted.text) && toHold.compareAndSet(wanted, null)) {
                late = wanted;
                wanted.arrived.countDown();
                readToItsEnd(in);
                wanted.givenUp.countDown();
                wanted.letGo.await();
            }
        }

        private void pump(Socket from, Socket to, boolean request) {
            byte[] buffer = new byte[65_536];
            try {
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream();
                for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                    if (request) {
                        String text = new String(buffer, 0, read, StandardCharsets.ISO_8859_1);
                        if (!passes(text)) {
                            break;
                        }
                        holdIfLate(text, in);
                    } else if (losing) {
                        break;
                    }
                    LateRequest held = late;
                    if (held != null && !request) {
                        held.answered.countDown();
                    }
                    if (spoiling && !request) {
                        out.write(SERVER_ERROR);
                        spoiling = false;
                    } else {
                        out.write(buffer, 0, read);
                    }
                    out.flush();
                    if (held != null && request) {
                        held.answered.await();
                    }
                }
            } catch (IOException e) {
                // The other direction has closed both.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } finally {
                end(client);
                end(upstream);
            }
        }
    }

    private static void readToItsEnd(InputStream in) {
        try {
            while (in.read() >= 0) {
                // Who has given up sends no more.
            }
        } catch (IOException e) {
            // That is an end too.
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
