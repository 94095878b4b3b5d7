package io.github.distributedsemaphore.tck.link;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Stands between clients and a server and carries their bytes, until it is to disturb them. It listens on a free port
 * of the loopback address and knows nothing of protocols. Each {@link LinkFault} lasts until it is closed; several may be there
 * at a time, and bytes pass them in the order in which they were made. Thread-safe.
 */
public final class TcpProxy implements AutoCloseable {
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

    /**
     * Starts it.
     *
     * @param server where it connects to for each client
     */
    public TcpProxy(InetSocketAddress server) {
        this.server = server;
        try {
            this.listening = new ServerSocket(0, BACKLOG, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        thread("accept", this::accept);
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

    /**
     * Ends the connections that are there now; new ones are let through.
     *
     * @param ending how; not by silence, for which there is {@link #lose}
     * @return how many were ended
     * @throws FaultMissedException if there were none
     */
    public int cut(Ending ending) {
        int cut = cutAny(ending);
        if (cut == 0) {
            throw new FaultMissedException("there is no connection to cut on " + carried());
        }
        return cut;
    }

    /**
     * Ends the connections that are there now, if there are any; new ones are let through.
     *
     * @param ending how; not by silence
     * @return how many were ended
     */
    public int cutAny(Ending ending) {
        if (ending == Ending.SILENCE) {
            throw new IllegalArgumentException("a cut is no silence: use lose or stall");
        }
        List<Line> cut = lines.stream().filter(Line::isOpen).toList();
        cut.forEach(line -> line.end(ending));
        return cut.size();
    }

    /**
     * Resets each new connection as soon as it is made; those that are there stay. The port stays taken, because
     * somebody else could get it, and because what is not accepted cannot be counted.
     *
     * @return the fault; it strikes with each attempt to connect
     */
    public LinkFault refuse() {
        return add(new Refusal(this));
    }

    /**
     * Refuses new connections, and resets those that are there now. The reset is the proof: whether a client tries to connect
     * again is its own business.
     *
     * @return the refusal, which {@link LinkFault#heal} ends
     * @throws FaultMissedException if there was no connection
     */
    public LinkFault cutOff() {
        LinkFault refusal = refuse();
        cut(Ending.RESET);
        return refusal;
    }

    /**
     * Stops the flow: what arrives is kept, and goes on its way when the fault ends, also for a client that has given up
     * meanwhile. Neither end can tell a stalled peer from one that has nothing to say.
     *
     * @param directions which ways; both if none is named
     * @return the fault; it strikes with each piece of data that is kept
     */
    public LinkFault stall(Direction... directions) {
        return add(new Stall(this, directions));
    }

    /**
     * Loses what goes one way. A stream with a gap is of no use: when the fault ends, the connections that lost something
     * are reset.
     *
     * @param directions which ways; both if none is named
     * @return the fault; it strikes with each piece of data that is lost
     */
    public LinkFault lose(Direction... directions) {
        return add(new Loss(this, directions));
    }

    /**
     * Loses one answer, after its request has reached the server. What the server sends after a request is an answer,
     * however many pieces it comes in.
     *
     * @param number which one, counted over all connections from now on; the next is 1
     * @param ending what becomes of its connection
     * @return the fault; it strikes once
     */
    public LinkFault loseAnswer(int number, Ending ending) {
        return add(new LostAnswer(this, number, "", ending));
    }

    /**
     * Loses the answer to the next request that contains something, after the request has reached the server.
     *
     * @param request some bytes of the request, each as a character of ISO 8859-1; they must come in one piece
     * @param ending what becomes of its connection
     * @return the fault; it strikes once
     */
    public LinkFault loseAnswerTo(String request, Ending ending) {
        return add(new LostAnswer(this, 1, request, ending));
    }

    /**
     * Holds one request on its way. All else goes on, also on connections that are made meanwhile. When the fault ends, the
     * server gets the request, late, and the client loses that connection.
     *
     * @param number which one, counted over all connections from now on as {@link #messages} does; the next is 1
     * @return the fault; it strikes once
     */
    public LinkFault holdRequest(int number) {
        return add(new LateRequest(this, number));
    }

    /**
     * Resets a connection when so much has passed in one direction; what comes after it is lost.
     *
     * @param direction which way
     * @param bytes how many still pass, over all connections from now on
     * @return the fault; it strikes once
     */
    public LinkFault cutAfter(Direction direction, long bytes) {
        return add(new LateCut(this, direction, bytes, new byte[0]));
    }

    /**
     * Resets a connection when certain bytes have passed; what comes after them is lost.
     *
     * @param direction which way
     * @param text the bytes, each as a character of ISO 8859-1; they may come in several pieces
     * @return the fault; it strikes once
     */
    public LinkFault cutAfter(Direction direction, String text) {
        return add(new LateCut(this, direction, Long.MAX_VALUE, text.getBytes(StandardCharsets.ISO_8859_1)));
    }

    /**
     * Delays each piece of data by a time that varies.
     *
     * @param least the shortest delay
     * @param most the longest delay
     * @param random where the choice comes from
     * @param directions which ways; both if none is named
     * @return the fault; it strikes with each piece of data
     */
    public LinkFault delay(Duration least, Duration most, Random random, Direction... directions) {
        return add(new Delay(this, least, most, random, directions));
    }

    /**
     * Lets only so much through.
     *
     * @param bytesPerSecond how much on each connection and in each direction
     * @param directions which ways; both if none is named
     * @return the fault; it strikes with each piece of data
     */
    public LinkFault throttle(int bytesPerSecond, Direction... directions) {
        return add(new Throttle(this, bytesPerSecond, directions));
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

    private LinkFault add(LinkFault fault) {
        faults.add(fault);
        return fault;
    }

    static void thread(String what, Runnable body) {
        Thread thread = new Thread(body, "tck-proxy " + what);
        thread.setDaemon(true);
        thread.start();
    }

    /** Says for a message what went through. */
    String carried() {
        return "the link to " + server + " (" + attempts() + " connections, " + openConnections() + " of them open, "
                + bytes(Direction.REQUESTS) + " bytes of requests and " + bytes(Direction.ANSWERS) + " of answers)";
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
}
