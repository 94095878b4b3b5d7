package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import io.github.distributedsemaphore.spi.support.PlatformThreads;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Deque;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Lends connections, and ends what takes too long: drivers swallow interrupts and bound a read, not a call, so a call that is
 * overdue ends by its connection being aborted from another thread. Thread-safe.
 */
final class Connections implements AutoCloseable {
    /** What is done with a connection. */
    interface Work<T> {
        T with(Connection connection) throws SQLException;
    }

    private record Idle(Connection connection, long sinceNanos) {}

    /** One that was not used for longer may be dead in silence: routers and load balancers forget it, some after a minute. */
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final Callable<Connection> opener;
    private final Duration timeout;
    private final int kept;
    private final String where;
    private final Semaphore places;
    private final Deque<Idle> idle = new ConcurrentLinkedDeque<>();
    private final Map<Connection, Deadline> calls = new ConcurrentHashMap<>();
    private final Set<Connection> withoutAutoCommit = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean looking = new AtomicBoolean();

    /** When the looker looks again at the latest: it is woken for a call that ends before that. */
    private volatile Deadline nextLook = Deadline.NEVER;

    private final Executor threads;
    private final LongSupplier clock;
    private volatile @Nullable Thread looker;
    private volatile boolean closed;

    /**
     * Creates it.
     *
     * @param opener makes a connection, or takes one from the application's pool; an attempt that nobody waits for any more ends by
     *     itself soon after the time-out
     * @param timeout how long a call takes at most
     * @param kept how many to keep and to use at most; 0 if each goes back to its pool after each call
     * @param where what they lead to, for messages
     */
    Connections(Callable<Connection> opener, Duration timeout, int kept, String where) {
        this(
                opener,
                timeout,
                kept,
                where,
                PlatformThreads.asMany(task -> daemon(task, "semaphore-jdbc-calls")),
                System::nanoTime);
    }

    Connections(
            Callable<Connection> opener,
            Duration timeout,
            int kept,
            String where,
            Executor threads,
            LongSupplier clock) {
        this.clock = clock;
        this.threads = threads;
        this.opener = opener;
        this.timeout = timeout;
        this.kept = kept;
        this.where = where;
        this.places = new Semaphore(kept == 0 ? Integer.MAX_VALUE : kept, true);
    }

    Deadline deadline() {
        return deadline(Duration.ZERO);
    }

    /** The time of a call, with what it takes besides. */
    Deadline deadline(Duration more) {
        return Deadline.after(System.nanoTime(), timeout.plus(more));
    }

    static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(null, task, name, 0, false);
        // Else it is the system class loader since Java 19, which has no driver in an executable jar or a WAR.
        thread.setContextClassLoader(Connections.class.getClassLoader());
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Does something on a connection.
     *
     * @param changes whether the work changes something: then it may have, if there is no answer
     * @throws io.github.distributedsemaphore.SemaphoreException as {@link Dialect#refused} says for a connection, and {@link Dialect#translated} for the rest
     */
    <T> T with(Deadline end, boolean changes, Work<T> work) {
        try (InterruptShield shield = new InterruptShield()) {
            if (!InterruptShield.await(places::tryAcquire, end)) {
                throw late("all connections are busy");
            }
            try {
                Connection connection = freshOrOpened(idle.pollFirst(), end);
                // An interrupt of the wait is back, and a driver may look at the flag of this thread.
                shield.absorb();
                return PlatformThreads.call(threads, () -> lent(connection, end, work));
            } catch (SQLException e) {
                throw Dialect.translated(e, changes, where);
            } finally {
                shield.absorb();
                places.release();
            }
        }
    }

    private Connection freshOrOpened(@Nullable Idle known, Deadline end) {
        if (known == null) {
            return open(end);
        }
        if (clock.getAsLong() - known.sinceNanos() < FRESH_NANOS) {
            return known.connection();
        }
        try {
            return open(end);
        } finally {
            // Afterwards: H2 forgets a database in memory with its last connection.
            elsewhere(() -> giveBack(known.connection(), deadline()), known.connection());
        }
    }

    private <T> T lent(Connection connection, Deadline end, Work<T> work) throws SQLException {
        boolean usable = false;
        try {
            T result = bounded(connection, end, work);
            usable = true;
            return result;
        } catch (SQLException e) {
            // Behind the same name there may be another server by now, which writes.
            usable = !Dialect.endsConnection(e) && !Dialect.isReadOnly(e);
            throw e;
        } finally {
            end(connection, usable && isOpen(connection), end);
        }
    }

    /** One that cannot tell is not used again. That says nothing about the work, which may have changed something. */
    private static boolean isOpen(Connection connection) {
        try {
            return !connection.isClosed();
        } catch (SQLException | RuntimeException e) {
            return false;
        }
    }

    private BackendUnavailableException late(String why) {
        return new BackendUnavailableException(
                where + " did not answer within the time-out: " + why + ", nothing was done", null);
    }

    /** Opens one on another thread: neither a driver nor a pool can be relied upon to end in time. */
    Connection open(Deadline end) {
        CompletableFuture<Connection> opened = CompletableFuture.supplyAsync(this::opened, threads);
        try {
            return InterruptShield.await(opened, end);
        } catch (TimeoutException e) {
            CompletableFuture<Void> unused = opened.thenAccept(this::keepOrGiveBack);
            throw late("there was no connection");
        } catch (ExecutionException e) {
            throw Dialect.refused(e.getCause(), where);
        }
    }

    /**
     * It comes too late and is in order. The next call uses it: else no call would ever get one where to connect takes longer than the
     * time-out. A pool goes on lending it.
     */
    private void keepOrGiveBack(Connection late) {
        boolean fits = false;
        if (places.tryAcquire()) {
            try {
                // Those that are idle, those in use and this one are never more than the places.
                fits = idle.size() <= places.availablePermits();
                if (fits) {
                    end(late, true, deadline());
                }
            } finally {
                places.release();
            }
        }
        if (!fits) {
            giveBack(late);
        }
    }

    private Connection opened() {
        try {
            return withOwnTransactions(opener.call());
        } catch (Exception e) {
            throw new CompletionException(e);
        }
    }

    /** A pool may lend it with the settings of somebody's transactions, and need not put them right itself. */
    private Connection withOwnTransactions(Connection connection) throws SQLException {
        try {
            if (!connection.getAutoCommit()) {
                connection.setAutoCommit(true);
                withoutAutoCommit.add(connection);
            }
            return connection;
        } catch (SQLException | RuntimeException e) {
            closeQuietly(connection);
            throw e;
        }
    }

    /** Does something on a connection that is aborted when it takes too long: then this throws. */
    <T> T bounded(Connection connection, Deadline end, Work<T> work) throws SQLException {
        calls.put(connection, end);
        try {
            startLooking(end);
            return work.with(connection);
        } finally {
            if (calls.remove(connection) == null) {
                abort(connection);
            }
        }
    }

    /**
     * One thread looks for all calls: a timer for each would cost a change of threads. If no thread can be started, the call fails before it
     * is sent, and the next one tries again.
     */
    private void startLooking(Deadline end) {
        if (looking.compareAndSet(false, true)) {
            try {
                threads.execute(this::look);
            } catch (RuntimeException | Error e) {
                looking.set(false);
                throw e;
            }
        } else if (end.isBefore(nextLook)) {
            LockSupport.unpark(looker);
        }
    }

    /** Until the close, also while there are no calls: a client that renews would start a thread for each renewal. */
    private void look() {
        looker = Thread.currentThread();
        try {
            while (!closed || !calls.isEmpty()) {
                abortOverdue();
                // Whoever comes from here on wakes this thread, until its call is part of what it waits for.
                nextLook = Deadline.NEVER;
                nextLook = calls.values().stream().reduce(Deadline.NEVER, Deadline::earlier);
                if (!closed) {
                    LockSupport.parkNanos(this, nextLook.nanosFrom(System.nanoTime()));
                }
            }
        } finally {
            looking.set(false);
        }
        if (!calls.isEmpty()) {
            startLooking(Deadline.at(System.nanoTime()));
        }
    }

    private void abortOverdue() {
        long now = System.nanoTime();
        calls.forEach((connection, end) -> {
            if ((closed || end.isPast(now)) && calls.remove(connection, end)) {
                // MariaDB's driver asks the server to end the call.
                elsewhere(() -> abort(connection), connection);
            }
        });
    }

    /** Ends a connection on a thread of its own, because that may take long; aborts it on this one if there is no other. */
    private void elsewhere(Runnable ending, Connection connection) {
        try {
            threads.execute(ending);
        } catch (RuntimeException | Error e) {
            abort(connection);
        }
    }

    static void abort(Connection connection) {
        try {
            connection.abort(Runnable::run);
        } catch (SQLException | RuntimeException e) {
            // What cannot be aborted is ended by its driver, or by the other side.
        }
    }

    private void end(Connection connection, boolean usable, Deadline end) {
        if (!usable) {
            // What ended one connection has mostly ended the others.
            endIdle(Connections::abort);
            abort(connection);
        }
        if (usable && kept > 0) {
            idle.addFirst(new Idle(connection, clock.getAsLong()));
        } else {
            giveBack(connection, end);
        }
        if (closed) {
            endIdle(this::giveBack);
        }
    }

    private void endIdle(Consumer<Connection> how) {
        for (Idle one = idle.pollFirst(); one != null; one = idle.pollFirst()) {
            how.accept(one.connection());
        }
    }

    void giveBack(Connection connection) {
        giveBack(connection, deadline());
    }

    /**
     * As it was lent. Some drivers ask the server for that, within the time of the call. What fails here says nothing about the work
     * that was done.
     */
    private void giveBack(Connection connection, Deadline end) {
        try {
            if (withoutAutoCommit.remove(connection)) {
                boolean unused = bounded(connection, end, one -> {
                    one.setAutoCommit(false);
                    return true;
                });
            }
        } catch (SQLException | RuntimeException e) {
            // It is broken, and the pool will notice that.
        } finally {
            closeQuietly(connection);
        }
    }

    private static void closeQuietly(Connection connection) {
        try {
            connection.close();
        } catch (SQLException | RuntimeException e) {
            abort(connection);
        }
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(looker);
        try {
            threads.execute(() -> endIdle(this::giveBack));
        } catch (RuntimeException | Error e) {
            // There is no other thread, and to give one back may take as long as its server likes.
            endIdle(Connections::abort);
        }
    }
}
