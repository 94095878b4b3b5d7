package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

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

    private final Opener opener;
    private final int kept;
    private final String where;
    private final Semaphore places;
    private final Deque<Connection> idle = new ArrayDeque<>();
    private final ExecutorService openers;
    private final ScheduledThreadPoolExecutor timer;
    private boolean closed;

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
        timer.setRemoveOnCancelPolicy(true);
        this.openers = new ThreadPoolExecutor(
                0,
                Integer.MAX_VALUE,
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                new SynchronousQueue<>(),
                task -> daemon(task, "semaphore-jdbc-connect"));
    }

    private static Thread daemon(Runnable task, String name) {
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
                Connection connection = take(end, shield);
                return bounded(connection, end, work);
            } finally {
                places.release();
            }
        }
    }

    private BackendUnavailableException late(String why) {
        return new BackendUnavailableException(
                where + " did not answer within the time-out: " + why + ", nothing was done", null);
    }

    private Connection take(Deadline end, InterruptShield shield) throws SQLException {
        Connection known;
        synchronized (idle) {
            if (closed) {
                throw late("this client is closed");
            }
            known = idle.pollFirst();
        }
        return known == null ? open(end, shield) : known;
    }

    /** Opens one on another thread: neither a driver nor a pool can be relied upon to end in time. */
    Connection open(Deadline end, InterruptShield shield) throws SQLException {
        CompletableFuture<Connection> opened;
        try {
            opened = CompletableFuture.supplyAsync(this::opened, openers);
        } catch (RejectedExecutionException e) {
            throw late("this client is closed");
        }
        while (true) {
            try {
                return opened.get(end.nanosFrom(System.nanoTime()), TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                shield.absorb(e);
            } catch (TimeoutException e) {
                CompletableFuture<Void> unused = opened.thenAccept(connection -> end(connection, false));
                throw late("there was no connection");
            } catch (ExecutionException e) {
                throw e.getCause() instanceof SQLException cause
                        ? cause
                        : new SQLException(String.valueOf(e.getCause()), e.getCause());
            }
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

    /** Does something on a connection that is aborted when it takes too long. */
    private <T> T bounded(Connection connection, Deadline end, Work<T> work) throws SQLException {
        boolean broken = true;
        Future<?> abort = abortAt(connection, end);
        try {
            T result = work.with(connection);
            broken = !abort.cancel(false);
            return result;
        } catch (SQLException e) {
            broken = !abort.cancel(false) || SqlFailures.endsConnection(e);
            throw e;
        } finally {
            end(connection, !broken);
        }
    }

    /** Aborts a connection then, or at once if this is closed. What it returns is cancelled when the call has ended. */
    Future<?> abortAt(Connection connection, Deadline end) {
        try {
            return timer.schedule(() -> abort(connection), end.nanosFrom(System.nanoTime()), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            abort(connection);
            return CompletableFuture.completedFuture(null);
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
            }
        }
        if (!usable) {
            abort(connection);
        }
        try {
            connection.close();
        } catch (SQLException e) {
            abort(connection);
        }
    }

    @Override
    public void close() {
        synchronized (idle) {
            closed = true;
            idle.forEach(connection -> openers.execute(() -> closeQuietly(connection)));
            idle.clear();
        }
        openers.shutdown();
        timer.shutdown();
    }

    private static void closeQuietly(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            abort(connection);
        }
    }
}
