package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.support.CasStore;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears by {@code LISTEN} which waiting clients are called, on a connection and a thread of its own, which are there while
 * somebody waits and a few seconds longer. A hint that is lost costs time only: the engine also asks on a timer. Thread-safe.
 */
final class PostgresHints implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PostgresHints.class);
    private static final Duration LISTEN = Duration.ofSeconds(1);

    /** Nobody waits for that connection, and where connecting takes longer than a call it could never be had in the time of one. */
    private static final Duration CONNECT = Duration.ofSeconds(10);

    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(3);
    private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final Connections connections;
    private final String channel;
    private final Executor threads;
    private final Map<Consumer<String>, String> watched = new ConcurrentHashMap<>();
    private volatile boolean closed;
    private boolean listening;

    /** Before the next attempt to listen. Used by the thread that listens. */
    private long pauseNanos = FIRST_PAUSE_NANOS;

    PostgresHints(Connections connections, String table) {
        this(
                connections,
                table,
                task -> Connections.daemon(task, "semaphore-jdbc-listen").start());
    }

    PostgresHints(Connections connections, String table, Executor threads) {
        this.threads = threads;
        this.connections = connections;
        this.channel = channel(table);
    }

    /**
     * One for each name of a table: the name of the semaphore is sent along. The schema does not count, because it is left out where it is
     * the default one. A channel that two tables share costs needless hints only.
     */
    static String channel(String table) {
        String withoutSchema = table.substring(table.indexOf('.') + 1);
        return "semaphore_" + Integer.toHexString(withoutSchema.hashCode());
    }

    BackendSession.Watch watch(String name, Consumer<String> hint) {
        watched.put(hint, name);
        startListening();
        return () -> watched.remove(hint);
    }

    private synchronized void startListening() {
        if (!listening) {
            try {
                threads.execute(this::listen);
                listening = true;
            } catch (RuntimeException | Error e) {
                LOG.warn("Nobody listens until the next call waits, so waiters ask by their timers", e);
            }
        }
    }

    private synchronized boolean goesOn() {
        listening = !closed && !watched.isEmpty();
        return listening;
    }

    /** Ends when nobody waits and at nothing else: every waiter of this client depends on it. */
    private void listen() {
        pauseNanos = FIRST_PAUSE_NANOS;
        while (goesOn()) {
            if (!hasListened()) {
                LockSupport.parkNanos(this, pauseNanos);
                pauseNanos = Math.min(LONGEST_PAUSE_NANOS, pauseNanos * 2);
            }
        }
    }

    private boolean hasListened() {
        try {
            listenOnce();
            return true;
        } catch (SQLException | SemaphoreException e) {
            LOG.debug("Hints are missing for a while: {}", e.toString());
        } catch (RuntimeException | Error e) {
            LOG.warn("Hints are missing for a while; waiters ask by their timers", e);
        }
        return false;
    }

    /** Listens until nobody has waited for a while. */
    private void listenOnce() throws SQLException {
        Connection opened = connections.open(connections.deadline(CONNECT));
        try {
            execute(opened, "LISTEN " + channel);
            // Whoever began to watch before has missed what was said until now.
            watched.keySet().forEach(hint -> hint.accept(CasStore.EVERYBODY));
            long lastWatched = System.nanoTime();
            while (!closed && System.nanoTime() - lastWatched < LINGER_NANOS) {
                // The driver bounds the wait for the first byte of a message only.
                boolean heard = connections.bounded(opened, connections.deadline(LISTEN), this::hear);
                // A later break has nothing to do with those before.
                pauseNanos = FIRST_PAUSE_NANOS;
                if (!heard) {
                    // A link that is dead in silence is noticed by a request only.
                    execute(opened, "SELECT 1");
                }
                lastWatched = watched.isEmpty() ? lastWatched : System.nanoTime();
            }
            execute(opened, "UNLISTEN *");
            connections.giveBack(opened);
        } finally {
            Connections.abort(opened);
            // A pool counts it as lent until then, whatever became of it.
            connections.giveBack(opened);
        }
    }

    /** PostgreSQL's own in its driver: looked up by name, because whoever uses another database does not have it. */
    private boolean hear(Connection on) throws SQLException {
        try {
            Class<?> type = Class.forName("org.postgresql.PGConnection");
            Method parameter = Class.forName("org.postgresql.PGNotification").getMethod("getParameter");
            Object result =
                    type.getMethod("getNotifications", int.class).invoke(on.unwrap(type), (int) LISTEN.toMillis());
            // Older drivers return null for none.
            Object[] heard = result == null ? new Object[0] : (Object[]) result;
            for (Object one : heard) {
                String[] words = ((String) parameter.invoke(one)).split("\n", 2);
                watched.forEach((hint, name) -> {
                    if (name.equals(words[0])) {
                        hint.accept(words[words.length - 1]);
                    }
                });
            }
            return heard.length > 0;
        } catch (ReflectiveOperationException e) {
            throw new SQLException("the driver is not PostgreSQL's, or its connection is broken", e);
        }
    }

    private void execute(Connection on, String command) throws SQLException {
        boolean unused = connections.bounded(on, connections.deadline(), connected -> {
            try (Statement statement = connected.createStatement()) {
                return statement.execute(command);
            }
        });
    }

    /** The thread ends, and its connection, after the second at most for which it hears. */
    @Override
    public void close() {
        closed = true;
    }
}
