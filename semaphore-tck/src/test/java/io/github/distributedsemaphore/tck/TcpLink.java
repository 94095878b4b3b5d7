package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.memory.Link;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Deque;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * Carries calls to a server in memory over real connections. Only the number of a call travels; what it does and what came of
 * it stay in this process, where {@link TcpMemoryServer} looks them up. Each step can be overridden by one that is wrong on purpose.
 */
public class TcpLink implements Link, AutoCloseable {
    private static final Map<Long, Work> WORK = new ConcurrentHashMap<>();
    private static final AtomicLong NUMBERS = new AtomicLong();
    private static final Set<String> CHANGING = Set.of("exchange", "create", "resize", "destroy");
    private static final int TIMEOUT_MILLIS = 400;

    private final InetSocketAddress server;
    private final Deque<Socket> idle = new ConcurrentLinkedDeque<>();

    protected TcpLink(InetSocketAddress server) {
        this.server = server;
    }

    /** Does on the server what a number stands for; false if nobody wants it any more. */
    static boolean work(long number) {
        Work work = WORK.get(number);
        if (work != null) {
            work.run();
        }
        return work != null;
    }

    @Override
    public <T> T call(String what, Supplier<T> onServer) {
        Socket socket = connection(what);
        long number = NUMBERS.incrementAndGet();
        Work work = new Work(onServer);
        WORK.put(number, work);
        try {
            new DataOutputStream(socket.getOutputStream()).writeLong(number);
            new DataInputStream(socket.getInputStream()).readLong();
        } catch (IOException e) {
            drop(socket);
            dropIdle();
            return lost(what, onServer, e);
        }
        idle.push(socket);
        return work.answer();
    }

    /** What ended one connection has mostly ended the others. */
    private void dropIdle() {
        for (Socket socket = idle.poll(); socket != null; socket = idle.poll()) {
            drop(socket);
        }
    }

    /** Returns a connection that is not in use. */
    protected Socket connection(String what) {
        for (Socket socket = idle.poll(); socket != null; socket = idle.poll()) {
            if (!socket.isClosed()) {
                return socket;
            }
        }
        Socket socket = new Socket();
        try {
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(timeoutMillis());
            socket.connect(server, timeoutMillis());
            return socket;
        } catch (IOException e) {
            drop(socket);
            throw new BackendUnavailableException("The memory server cannot be reached to " + what, e);
        }
    }

    /** How long to wait for an answer; 0 waits without limit. */
    protected int timeoutMillis() {
        return TIMEOUT_MILLIS;
    }

    /** No answer came. */
    protected <T> T lost(String what, Supplier<T> onServer, IOException reason) {
        if (CHANGING.contains(what)) {
            throw new OutcomeUnknownException("The memory server did not answer to " + what, reason);
        }
        throw new BackendUnavailableException("The memory server did not answer to " + what, reason);
    }

    /** A connection is of no use any more. */
    protected void drop(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            // It was closed already.
        }
    }

    @Override
    public void close() {
        idle.forEach(this::drop);
    }

    /** A call and what came of it. */
    private static final class Work {
        private final Supplier<?> onServer;
        private Object result;
        private RuntimeException failure;

        Work(Supplier<?> onServer) {
            this.onServer = onServer;
        }

        synchronized void run() {
            try {
                result = onServer.get();
            } catch (RuntimeException e) {
                failure = e;
            }
        }

        @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"}) // a call and its answer have one type
        synchronized <T> T answer() {
            if (failure != null) {
                throw failure;
            }
            return (T) result;
        }
    }
}
