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
 * io.github.distributedsemaphore.BackendUnavailableException}. It has to lead to the server that accepts writes: with several hosts set
 * the driver's {@code targetServerType=primary}. The data source is not closed with the client. A data source that
 * lends the connection of a running transaction, such as Spring's {@code TransactionAwareDataSourceProxy}, is not suited.
 *
 * <p>Thread-safe.
 */
public final class JdbcSemaphores {
    private static final String LOSSES =
            "A restart keeps what the database keeps, and less if commits do not wait for the disk. A replica that"
                    + " takes over and lacks a grant lets a second holder in until the first one renews or its permit"
                    + " ends. A synchronous replica lacks none: then a fail-over exposes nothing, if its clock is not ahead.";
    private static final String BEHIND_A_POOLER =
            "Behind PgBouncer in transaction mode nobody is told of a change: set wakeup=poll there.";

    private JdbcSemaphores() {}

    /**
     * Makes a backend over a pool of connections to PostgreSQL, with default settings. Does no I/O.
     *
     * @param dataSource lends connections, in any mode of auto-commit: they go back in the same mode
     * @return the backend, for {@link io.github.distributedsemaphore.SemaphoreClient#builder(SemaphoreBackend)}
     */
    public static SemaphoreBackend over(DataSource dataSource) {
        return over(dataSource, "", Map.of());
    }

    /**
     * Makes a backend over a pool of connections. Does no I/O.
     *
     * @param dataSource lends connections, in any mode of auto-commit: they go back in the same mode
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
        CasBackend.Settings used = settings(uri, HolderInfo.ofThisProcess(label), dialect);
        String where = dialect.product() + " over a data source";
        Connections connections = new Connections(dataSource::getConnection, used.timeout(), 0, where);
        SemaphoreBackend backend = backend(uri, used, dialect, connections);
        uri.refuseUnread();
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

    static CasBackend.Settings settings(BackendUri uri, HolderInfo self, Dialect dialect) {
        String wakeUp = dialect.hasHints() ? uri.choice("wakeup", "listen", "poll") : uri.choice("wakeup", "poll");
        return CasBackend.Settings.from(uri, self, wakeUp.equals("listen"));
    }

    static SemaphoreBackend backend(
            BackendUri uri, CasBackend.Settings settings, Dialect dialect, Connections connections) {
        String schema = uri.text("schema", "");
        String table = checked((schema.isEmpty() ? "" : schema + ".") + uri.text("table", "semaphores"));
        PostgresHints hints = settings.poll().isZero() ? new PostgresHints(connections, table) : null;
        JdbcStore store = new JdbcStore(connections, dialect, table, hints);
        return new CasBackend(dialect.id(), store, settings, guarantees -> {
            if (dialect == Dialect.H2) {
                return guarantees.notes("A database in memory keeps nothing.");
            }
            guarantees.exposure(Fault.FAIL_OVER, settings.detection()).notes(LOSSES);
            return dialect.hasHints() ? guarantees.notes(BEHIND_A_POOLER) : guarantees;
        });
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
}
