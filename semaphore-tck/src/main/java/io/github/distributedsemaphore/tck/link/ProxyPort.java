package io.github.distributedsemaphore.tck.link;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** The part of a {@link TcpProxy} that listens, carries and counts. Thread-safe. */
abstract class ProxyPort implements AutoCloseable {
    private static final int BACKLOG = 200;

    private final ServerSocket listening;
    private final Set<Line> lines = ConcurrentHashMap.newKeySet();
    private final List<LinkFault> faults = new CopyOnWriteArrayList<>();
    private final AtomicLong attempts = new AtomicLong();
    private final AtomicLong requestBytes = new AtomicLong();
    private final AtomicLong answerBytes = new AtomicLong();
    private final AtomicLong requests = new AtomicLong();
    private final AtomicLong answers = new AtomicLong();
    private volatile InetSocketAddress server;

    ProxyPort(InetSocketAddress server) {
        this.server = server;
        try {
            this.listening = new ServerSocket(0, BACKLOG, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        thread("accept", this::accept);
    }

    static void thread(String what, Runnable body) {
        Thread thread = new Thread(body, "tck-proxy " + what);
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Returns where clients connect to.
     *
     * @return the loopback address and a port
     */
    public InetSocketAddress address() {
        return new InetSocketAddress(listening.getInetAddress(), listening.getLocalPort());
    }

    /**
     * Leads new connections to another server, as a name or an address does that moves with a fail-over.
     *
     * @param newServer where it connects to from now on
     */
    public void leadTo(InetSocketAddress newServer) {
        server = newServer;
    }

    /**
     * Counts the connections that are open now.
     *
     * @return how many
     */
    public int openConnections() {
        return (int) lines.stream().filter(Line::isOpen).count();
    }

    /**
     * Counts the attempts to connect, those that were refused as well.
     *
     * @return how many since the start
     */
    public long attempts() {
        return attempts.get();
    }

    /**
     * Counts the bytes that arrived in one direction, also those that went no further.
     *
     * @param direction which way
     * @return how many since the start
     */
    public long bytes(Direction direction) {
        return (direction == Direction.REQUESTS ? requestBytes : answerBytes).get();
    }

    /**
     * Counts the pieces of data that arrived in one direction, also those that went no further. A request that fits into one piece
     * is one; several requests at once may be one too.
     *
     * @param direction which way
     * @return how many since the start
     */
    public long messages(Direction direction) {
        return (direction == Direction.REQUESTS ? requests : answers).get();
    }

    /** Says for a message what went through. */
    String carried() {
        return "the link to " + server + " (" + attempts() + " connections, " + openConnections() + " of them open, "
                + bytes(Direction.REQUESTS) + " bytes of requests and " + bytes(Direction.ANSWERS) + " of answers)";
    }

    final Set<Line> lines() {
        return lines;
    }

    final List<LinkFault> faults() {
        return faults;
    }

    void remove(LinkFault fault) {
        faults.remove(fault);
    }

    private void accept() {
        while (!listening.isClosed()) {
            try {
                Socket client = listening.accept();
                attempts.incrementAndGet();
                thread("connect", () -> connect(client));
            } catch (IOException e) {
                if (!listening.isClosed()) {
                    throw new UncheckedIOException(e);
                }
            }
        }
    }

    private void connect(Socket client) {
        Socket upstream = new Socket();
        Line line = new Line(this, client, upstream);
        // First of all: a cut that comes from now on ends it, and a fault that was there before is asked about it.
        lines.add(line);
        try {
            boolean admitted = admits();
            if (admitted) {
                client.setTcpNoDelay(true);
                upstream.setTcpNoDelay(true);
                upstream.connect(server, 5_000);
                admitted = admits();
            }
            if (!admitted || listening.isClosed()) {
                ended(line);
                line.end(Ending.RESET);
            } else {
                line.start();
            }
        } catch (IOException e) {
            // The server is not there, and the client learns it in the only way that there is.
            ended(line);
            line.end(Ending.RESET);
        }
    }

    private boolean admits() {
        return faults.stream().allMatch(LinkFault::admits);
    }

    byte[] through(Line line, Direction direction, byte[] bytes) throws IOException {
        (direction == Direction.REQUESTS ? requestBytes : answerBytes).addAndGet(bytes.length);
        (direction == Direction.REQUESTS ? requests : answers).incrementAndGet();
        byte @Nullable [] rest = bytes;
        for (LinkFault fault : faults) {
            rest = fault.carry(line, direction, rest);
            if (rest == null) {
                return new byte[0];
            }
        }
        return rest;
    }

    void end(Line line, Direction direction) {
        faults.forEach(fault -> fault.beforeEnd(line, direction));
    }

    void ended(Line line) {
        lines.remove(line);
    }

    /** Ends all faults that are there, whether they struck or not. */
    public void heal() {
        faults.forEach(LinkFault::heal);
    }

    /** Ends all connections; faults that are there are healed, whether they struck or not. */
    @Override
    public void close() {
        try {
            listening.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        lines.forEach(line -> line.end(Ending.RESET));
        heal();
    }
}
