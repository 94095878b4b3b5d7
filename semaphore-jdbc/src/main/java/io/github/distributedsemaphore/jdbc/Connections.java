package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Lends connections, and ends what takes too long: drivers swallow interrupts and bound a read, not a call, so a call that is
 * overdue ends by its connection being aborted from another thread. Thread-safe.
 */
final class Connections implements AutoCloseable {
    /** What makes a connection. */
    @FunctionalInterface
    interface Opener {
        Connection open() throws SQLException;
    }

    /** What is done with one. */
    @FunctionalInterface
    interface Work<T> {
        T with(Connection connection) throws SQLException;
    }

    private static final long IDLE_SECONDS = 1;
    /** One look for all calls: a timer for each would cost a change of threads. */
    private static final long LOOK_MILLIS = 20;

    private final Opener opener;
    private final int kept;
    private final String where;
    private final Semaphore places;
    private final Deque<Connection> idle = new ArrayDeque<>();
    private final Set<Call> calls = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean looking = new AtomicBoolean();
    private final ThreadPoolExecutor openers;
    private final ScheduledThreadPoolExecutor timer;
    private volatile boolean closed;

    /** A call under way. */
    private static final class Call {
        final Connection connection;
        final Deadline end;

        Call(Connection connection, Deadline end) {
            this.connection = connection;
            this.end = end;
        }
    }

    /**
     * Creates it.
     *
     * @param opener makes a connection, or takes one from the application's pool
     * @param kept how many to keep and to use at most; 0 if each goes back to its pool after each call
     * @param where what they lead to, for messages
     */
    Connections(Opener opener, int kept, String where) {
        this.opener = opener;
        this.kept = kept;
        this.where = where;
        this.places = new Semaphore(kept == 0 ? Integer.MAX_VALUE : kept, true);
        this.timer = new ScheduledThreadPoolExecutor(1, task -> daemon(task, "semaphore-jdbc-timer"));
        this.openers = new ThreadPoolExecutor(
                0,
                Integer.MAX_VALUE,
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                new SynchronousQueue<>(),
                task -> daemon(task, "semaphore-jdbc-connect"));
    }

    static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(null, task, name, 0, false);
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Does something on a connection.
     *
     * @throws BackendUnavailableException if there is none in time: nothing was done
     * @throws SQLException what the work throws, or the opener
     */
    <T> T with(Deadline end, Work<T> work) throws SQLException {
        try (InterruptShield shield = new InterruptShield()) {
            if (!InterruptShield.await(places::tryAcquire, end)) {
                throw late("all connections are busy");
            }
            try {
                Connection known;
                synchronized (idle) {
                    known = idle.pollFirst();
                }
                return lent(known == null ? open(end) : known, end, work);
            } finally {
                shield.absorb();
                places.release();
            }
        }
    }

    private <T> T lent(Connection connection, Deadline end, Work<T> work) throws SQLException {
        boolean usable = false;
        try {
            T result = bounded(connection, end, work);
            usable = !connection.isClosed();
            return result;
        } catch (SQLException e) {
            usable = !connection.isClosed() && !Dialect.endsConnection(e);
            throw e;
        } finally {
            end(connection, usable);
        }
    }

    private BackendUnavailableException late(String why) {
        return new BackendUnavailableException(
                where + " did not answer within the time-out: " + why + ", nothing was done", null);
    }

    /** Opens one on another thread: neither a driver nor a pool can be relied upon to end in time. */
    Connection open(Deadline end) throws SQLException {
        CompletableFuture<Connection> opened;
        try {
            opened = CompletableFuture.supplyAsync(this::opened, openers);
        } catch (RejectedExecutionException e) {
            throw late("this client is closed");
        }
        try {
            return InterruptShield.await(opened, end);
        } catch (TimeoutException e) {
            CompletableFuture<Void> unused = opened.thenAccept(connection -> end(connection, false));
            throw late("there was no connection");
        } catch (ExecutionException e) {
            throw e.getCause() instanceof SQLException cause
                    ? cause
                    : new SQLException(String.valueOf(e.getCause()), e.getCause());
        }
    }

    private Connection opened() {
        try {
            Connection connection = opener.open();
            // A pool may lend it with the settings of somebody's transactions.
            if (!connection.getAutoCommit()) {
                connection.setAutoCommit(true);
            }
            return connection;
        } catch (SQLException e) {
            throw new CompletionException(e);
        }
    }

    /** Does something on a connection that is aborted when it takes too long: then this throws. */
    <T> T bounded(Connection connection, Deadline end, Work<T> work) throws SQLException {
        Call call = new Call(connection, end);
        calls.add(call);
        look();
        try {
            return work.with(connection);
        } finally {
            if (!calls.remove(call)) {
                abort(connection);
            }
        }
    }

    private void look() {
        try {
            if (looking.compareAndSet(false, true)) {
                Future<?> unused = timer.schedule(this::abortOverdue, LOOK_MILLIS, TimeUnit.MILLISECONDS);
            }
        } catch (RejectedExecutionException e) {
            abortOverdue();
        }
    }

    private void abortOverdue() {
        long now = System.nanoTime();
        for (Call call : List.copyOf(calls)) {
            if ((closed || call.end.isPast(now)) && calls.remove(call)) {
                abort(call.connection);
            }
        }
        looking.set(false);
        if (!calls.isEmpty()) {
            look();
        }
    }

    static void abort(Connection connection) {
        try {
            connection.abort(Runnable::run);
        } catch (SQLException e) {
            // What cannot be aborted is ended by its driver, or by the other side.
        }
    }

    private void end(Connection connection, boolean usable) {
        synchronized (idle) {
            if (usable && kept > 0 && !closed) {
                idle.addFirst(connection);
                return;
            }
            if (!usable) {
                // What ended one connection has mostly ended the others.
                idle.forEach(Connections::abort);
                idle.clear();
                abort(connection);
            }
        }
        closeQuietly(connection);
    }

    @Override
    public void close() {
        synchronized (idle) {
            closed = true;
            idle.forEach(connection -> openers.execute(() -> closeQuietly(connection)));
            idle.clear();
        }
        openers.shutdown();
        timer.shutdownNow();
        abortOverdue();
    }

    private static void closeQuietly(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            abort(connection);
        }
    }
}
