package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.CasBackend;
import java.util.Map;
import javax.sql.DataSource;

/**
 * Semaphores in a SQL database that the application already has a connection pool for.
 *
 * <pre>{@code
 * SemaphoreClient client = SemaphoreClient.builder(JdbcSemaphores.over(dataSource)).connect();
 * }</pre>
 *
 * <p>A call borrows a connection for one or two statements, each of which commits by itself. While somebody waits, a client keeps
 * one more connection to listen on. The pool's own time-out is to be shorter than the setting {@code timeout}, five seconds by
 * default: a call that gets no connection in that time ends as {@link
 * io.github.distributedsemaphore.BackendUnavailableException}. The data source is not closed with the client. A data source that
 * lends the connection of a running transaction, such as Spring's {@code TransactionAwareDataSourceProxy}, is not suited.
 *
 * <p>Thread-safe.
 */
public final class JdbcSemaphores {
    private static final String LISTEN = "listen";
    private static final String POLL = "poll";

    private JdbcSemaphores() {}

    /**
     * Makes a backend over a pool of connections to PostgreSQL, with default settings. Does no I/O.
     *
     * @param dataSource lends connections in auto-commit mode, or in another mode that is then changed
     * @return the backend, for {@link io.github.distributedsemaphore.SemaphoreClient#builder(SemaphoreBackend)}
     */
    public static SemaphoreBackend over(DataSource dataSource) {
        return over(dataSource, "", Map.of());
    }

    /**
     * Makes a backend over a pool of connections. Does no I/O.
     *
     * @param dataSource lends connections in auto-commit mode, or in another mode that is then changed
     * @param label what the client calls itself in descriptions; empty for nothing
     * @param settings those of {@link JdbcBackendProvider} by name, but for those of the connection; and {@code dialect}, which is
     *     {@code postgresql} by default, {@code h2} or {@code mariadb}
     * @return the backend, for {@link io.github.distributedsemaphore.SemaphoreClient#builder(SemaphoreBackend)}
     * @throws IllegalArgumentException if a setting is unknown or out of its bounds
     */
    public static SemaphoreBackend over(DataSource dataSource, String label, Map<String, String> settings) {
        BackendUri uri = BackendUri.parse("jdbc:");
        settings.forEach(uri::set);
        Dialect dialect = Dialect.of(uri.text("dialect", "postgresql"));
        SemaphoreBackend backend = backend(
                uri,
                HolderInfo.ofThisProcess(label),
                dialect,
                timeout -> dataSource.getConnection(),
                0,
                dialect.product() + " over a data source");
        try {
            uri.refuseUnread();
        } catch (IllegalArgumentException e) {
            backend.close();
            throw e;
        }
        return backend;
    }

    /**
     * Returns the script that creates the table, for an application that may not create tables itself.
     *
     * @param dialect {@code postgresql}, {@code h2} or {@code mariadb}
     * @param table the table, with its schema if that is not the default one, such as {@code app.semaphores}
     * @return one SQL statement with comments
     * @throws IllegalArgumentException if there is no such dialect, or the name of the table is no plain identifier
     */
    public static String schema(String dialect, String table) {
        return Dialect.of(dialect).schema(checked(table));
    }

    static SemaphoreBackend backend(
            BackendUri uri, HolderInfo self, Dialect dialect, Connections.Opener opener, int kept, String where) {
        boolean listens = listens(uri, dialect);
        CasBackend.Settings settings = CasBackend.Settings.from(uri, self, listens);
        String schema = uri.text("schema", "");
        String table = checked((schema.isEmpty() ? "" : schema + ".") + uri.text("table", "semaphores"));
        Connections connections = new Connections(opener, settings.timeout(), kept, where);
        PostgresHints hints = listens ? new PostgresHints(connections, table) : null;
        JdbcStore store = new JdbcStore(connections, dialect, table, where, hints);
        return new CasBackend(dialect.id(), store, settings, guarantees -> {
            if (dialect != Dialect.H2) {
                guarantees.exposure(Fault.FAIL_OVER, settings.detection());
            }
            return guarantees.notes(notes(dialect, listens));
        });
    }

    static boolean listens(BackendUri uri, Dialect dialect) {
        String wakeUp = uri.text("wakeup", dialect.hasHints() ? LISTEN : POLL);
        if (!wakeUp.equals(POLL) && !(wakeUp.equals(LISTEN) && dialect.hasHints())) {
            throw new IllegalArgumentException("Setting 'wakeup' is '" + wakeUp + "', it must be poll"
                    + (dialect.hasHints() ? " or listen" : ": " + dialect.product() + " tells nobody about changes"));
        }
        return wakeUp.equals(LISTEN);
    }

    /** It becomes part of statements. */
    private static String checked(String table) {
        if (!table.matches("([a-z_][a-z0-9_]{0,62}\\.)?[a-z_][a-z0-9_]{0,62}")) {
            throw new IllegalArgumentException(
                    "The table is '" + table + "', it must be a name of at most 63 lower-case letters,"
                            + " digits and underscores, after a schema of that form or none");
        }
        return table;
    }

    private static String[] notes(Dialect dialect, boolean listens) {
        String restart =
                "Over a restart is kept what the database keeps: with fsync=off, or synchronous_commit=off, less.";
        String clock = "Leases end by the server's clock: if it is set forwards, they end early by as much.";
        String failOver =
                "A replica that takes over and lacks a grant lets a second holder in until the first one renews or its"
                        + " permit ends. A synchronous replica lacks none: then a fail-over exposes nothing.";
        String polled = "Waiters ask every 'poll': there are no hints, also not behind PgBouncer in transaction mode.";
        return switch (dialect) {
            case POSTGRESQL ->
                listens ? new String[] {clock, restart, failOver} : new String[] {clock, restart, failOver, polled};
            case MARIADB -> new String[] {clock, failOver, polled};
            case H2 -> new String[] {clock, "A database in memory keeps nothing.", polled};
        };
    }
}
