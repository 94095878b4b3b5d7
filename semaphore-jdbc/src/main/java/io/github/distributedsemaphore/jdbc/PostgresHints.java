package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears by {@code LISTEN} which semaphores may have become free, on a connection and a thread of its own, which are there while
 * somebody waits and a few seconds longer. A hint that is lost costs time only: the engine also asks on a timer. Thread-safe.
 */
final class PostgresHints implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PostgresHints.class);
    private static final int LISTEN_MILLIS = 1_000;
    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(3);
    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final Connections connections;
    private final String channel;
    private final Duration timeout;
    private final Map<String, Set<Runnable>> watched = new ConcurrentHashMap<>();

    private final ReentrantLock lock = new ReentrantLock();
    private final CountDownLatch closing = new CountDownLatch(1);
    private @Nullable Thread listener;
    private volatile @Nullable Connection connection;
    private volatile boolean closed;

    /** What is PostgreSQL's own in its driver: looked up by name, because whoever uses another database does not have it. */
    private static final class NotifyingDriver {
        private final Class<?> type;
        private final Method receive;
        private final Method parameter;

        NotifyingDriver() throws SQLException {
            try {
                type = Class.forName("org.postgresql.PGConnection");
                receive = type.getMethod("getNotifications", int.class);
                parameter = Class.forName("org.postgresql.PGNotification").getMethod("getParameter");
            } catch (ReflectiveOperationException e) {
                throw new SQLException("PostgreSQL's driver is not on the path", e);
            }
        }

        /** Waits for a while; returns what was told, nothing if nothing was. */
        List<String> notifications(Connection on) throws SQLException {
            try {
                Object[] heard = (Object[]) receive.invoke(on.unwrap(type), LISTEN_MILLIS);
                List<String> parameters = new ArrayList<>();
                for (Object one : heard == null ? new Object[0] : heard) {
                    parameters.add((String) parameter.invoke(one));
                }
                return parameters;
            } catch (ReflectiveOperationException e) {
                throw new SQLException("the connection to listen on is broken", e);
            }
        }
    }

    PostgresHints(Connections connections, String table, Duration timeout) {
        this.connections = connections;
        this.channel = channel(table);
        this.timeout = timeout;
    }

    /** One for each table: the name of the semaphore is sent along. A channel that two share costs needless hints only. */
    static String channel(String table) {
        return "semaphore_" + Integer.toHexString(table.hashCode());
    }

    BackendSession.Watch watch(String name, Runnable hint) {
        // In one step, because the last watch that ends takes the set away.
        watched.compute(name, (key, known) -> {
            Set<Runnable> hints = known == null ? ConcurrentHashMap.newKeySet() : known;
            hints.add(hint);
            return hints;
        });
        lock.lock();
        try {
            if (closed) {
                throw new BackendUnavailableException("This client is closed", null);
            }
            if (listener == null) {
                listener = new Thread(null, this::listen, "semaphore-jdbc-listen", 0, false);
                listener.setDaemon(true);
                listener.start();
            }
        } finally {
            lock.unlock();
        }
        return () -> watched.computeIfPresent(name, (key, hints) -> {
            hints.remove(hint);
            return hints.isEmpty() ? null : hints;
        });
    }

    private void listen() {
        long pause = FIRST_PAUSE_NANOS;
        while (!closed) {
            try {
                listenOnce();
                if (mayEnd()) {
                    return;
                }
                pause = FIRST_PAUSE_NANOS;
            } catch (SQLException | BackendUnavailableException e) {
                LOG.debug("Hints are missing for a while: {}", e.toString());
                pause(pause);
                pause = Math.min(LONGEST_PAUSE_NANOS, pause * 2);
            }
        }
    }

    /** Listens until nobody has waited for a while. */
    private void listenOnce() throws SQLException {
        Connection opened;
        try (InterruptShield shield = new InterruptShield()) {
            opened = connections.open(deadline(), shield);
        }
        connection = opened;
        try {
            execute(opened, "LISTEN " + channel);
            // Whoever began to watch before has missed what was told until now.
            watched.keySet().forEach(this::ring);
            NotifyingDriver driver = new NotifyingDriver();
            long lastWatched = System.nanoTime();
            while (!closed && System.nanoTime() - lastWatched < LINGER_NANOS) {
                List<String> heard = driver.notifications(opened);
                if (heard.isEmpty()) {
                    // A link that is dead in silence is noticed by a request only.
                    execute(opened, "SELECT 1");
                } else {
                    heard.forEach(this::ring);
                }
                lastWatched = watched.isEmpty() ? lastWatched : System.nanoTime();
            }
            execute(opened, "UNLISTEN *");
            opened.close();
        } finally {
            Connections.abort(opened);
            connection = null;
        }
    }

    private Deadline deadline() {
        return Deadline.after(System.nanoTime(), timeout);
    }

    private void execute(Connection on, String command) throws SQLException {
        Future<?> abort = connections.abortAt(on, deadline());
        try (Statement statement = on.createStatement()) {
            boolean unused = statement.execute(command);
        } finally {
            abort.cancel(false);
        }
    }

    private void ring(String name) {
        watched.getOrDefault(name, Set.of()).forEach(Runnable::run);
    }

    private boolean mayEnd() {
        lock.lock();
        try {
            if (watched.isEmpty()) {
                listener = null;
            }
            return watched.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    private void pause(long nanos) {
        try {
            boolean unused = closing.await(nanos, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            LOG.debug("Nobody interrupts this thread on purpose", e);
        }
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            closing.countDown();
        } finally {
            lock.unlock();
        }
        Connection open = connection;
        if (open != null) {
            Connections.abort(open);
        }
    }
}
