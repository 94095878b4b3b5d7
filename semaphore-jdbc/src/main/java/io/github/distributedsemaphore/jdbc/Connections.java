package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
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
    /** What makes a connection, or borrows one; an attempt that nobody waits for any more ends by itself soon after the time-out. */
    @FunctionalInterface
    interface Opener {
        Connection open(Duration timeout) throws SQLException;
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
    private final Duration timeout;
    private final int kept;
    private final String where;
    private final Semaphore places;
    private final Deque<Connection> idle = new ConcurrentLinkedDeque<>();
    private final Map<Connection, Deadline> calls = new ConcurrentHashMap<>();
    private final AtomicBoolean looking = new AtomicBoolean();
    private final ThreadPoolExecutor openers = new ThreadPoolExecutor(
            0,
            Integer.MAX_VALUE,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            task -> daemon(task, "semaphore-jdbc-connect"));
    private final ScheduledThreadPoolExecutor timer =
            new ScheduledThreadPoolExecutor(1, task -> daemon(task, "semaphore-jdbc-timer"));
    private volatile boolean closed;

    /**
     * Creates it.
     *
     * @param opener makes a connection, or takes one from the application's pool
     * @param timeout how long a call takes at most
     * @param kept how many to keep and to use at most; 0 if each goes back to its pool after each call
     * @param where what they lead to, for messages
     */
    Connections(Opener opener, Duration timeout, int kept, String where) {
        this.opener = opener;
        this.timeout = timeout;
        this.kept = kept;
        this.where = where;
        this.places = new Semaphore(kept == 0 ? Integer.MAX_VALUE : kept, true);
    }

    Deadline deadline() {
        return Deadline.after(System.nanoTime(), timeout);
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
                Connection known = idle.pollFirst();
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
            Connection connection = opener.open(timeout);
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
        calls.put(connection, end);
        look();
        try {
            return work.with(connection);
        } finally {
            if (calls.remove(connection) == null) {
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
        calls.forEach((connection, end) -> {
            if ((closed || end.isPast(now)) && calls.remove(connection, end)) {
                abort(connection);
            }
        });
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
        if (!usable) {
            // What ended one connection has mostly ended the others.
            takeIdle().forEach(Connections::abort);
            abort(connection);
            closeQuietly(connection);
        } else if (kept > 0) {
            idle.addFirst(connection);
            if (closed) {
                takeIdle().forEach(Connections::closeQuietly);
            }
        } else {
            closeQuietly(connection);
        }
    }

    private List<Connection> takeIdle() {
        List<Connection> taken = new ArrayList<>();
        for (Connection one = idle.pollFirst(); one != null; one = idle.pollFirst()) {
            taken.add(one);
        }
        return taken;
    }

    @Override
    public void close() {
        closed = true;
        takeIdle().forEach(connection -> openers.execute(() -> closeQuietly(connection)));
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
