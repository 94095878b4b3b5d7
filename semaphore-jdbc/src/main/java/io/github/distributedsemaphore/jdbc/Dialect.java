package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.cert.CertificateException;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTransientConnectionException;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What databases say differently, and what they mean when they fail. */
enum Dialect {
    POSTGRESQL("PostgreSQL", "org.postgresql.Driver", "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"),
    H2(
            "H2",
            "org.h2.Driver",
            "DATEDIFF(MILLISECOND, TIMESTAMP WITH TIME ZONE '1970-01-01 00:00:00+00', CURRENT_TIMESTAMP)"),
    /** By UTC: local time goes back, or jumps, when summer time ends. */
    MARIADB(
            "MariaDB",
            "org.mariadb.jdbc.Driver",
            "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000");

    /** H2: the connection is broken, the database is closed, and the same while the JVM ends. */
    private static final Set<String> ENDS_CONNECTION_TO_H2 = Set.of("90067", "90098", "90121");

    private static final Set<String> NO_TABLE = Set.of("42P01", "3F000", "42S02", "42S03", "42S04");
    /** PostgreSQL; H2; MariaDB says 42000 for much, and tells by the number. */
    private static final Set<String> NO_RIGHT = Set.of("42501", "90096");

    private static final Set<Integer> NO_RIGHT_IN_MARIADB = Set.of(1044, 1142, 1143, 1227);
    /** A limit of the user is reached: of requests or changes within the hour, or of connections. */
    private static final int USER_LIMIT_IN_MARIADB = 1226;

    private static final Set<Integer> READ_ONLY_IN_MARIADB = Set.of(1290, 1836);

    private static final String COMPLETION_UNKNOWN = "40003";

    private static final String NOT_UNIQUE = "23505";

    /**
     * PostgreSQL's driver has no password where the server asks for one. It says the same of a server that has no TLS, or no process for
     * the connection at the moment. MariaDB says it of too many connections, with a number.
     */
    private static final String REJECTED = "08004";

    /** PostgreSQL: the table, and its type. */
    private static final Set<String> THERE_ALREADY = Set.of("42P07", "42710");

    private final String product;
    private final String driver;
    private final String clock;

    Dialect(String product, String driver, String clock) {
        this.product = product;
        this.driver = driver;
        this.clock = clock;
    }

    static Dialect of(String name) {
        return Stream.of(values())
                .filter(dialect -> dialect.id().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("There is no dialect '" + name
                        + "': it must be postgresql, h2 or mariadb, as in jdbc:postgresql:"));
    }

    String id() {
        return name().toLowerCase(Locale.ROOT);
    }

    String product() {
        return product;
    }

    /**
     * Loads the driver, if there is one, which registers itself with {@link java.sql.DriverManager}. The manager itself looks for drivers
     * once in a JVM, by the context class loader of the first thread that asks, and may not find this one.
     */
    void loadDriver() {
        try {
            Class<?> unused = Class.forName(driver, true, Dialect.class.getClassLoader());
        } catch (ClassNotFoundException | LinkageError e) {
            // Opening does not fail: the manager says at the first call that there is no driver.
        }
    }

    /** Whether the database can tell a client about a change. */
    boolean hasHints() {
        return this == POSTGRESQL;
    }

    /** What creates the table if there is none. */
    String schema(String table) {
        try (InputStream script = Dialect.class.getResourceAsStream(id() + ".sql")) {
            String text = new String(script.readAllBytes(), StandardCharsets.UTF_8);
            return text.replace("EXISTS semaphores", "EXISTS " + table);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * One row, with the database's clock also where nothing is stored. None from a server that only follows another one: what it says may
     * be out of date. Parameter: name.
     */
    String read(String table) {
        return select(table) + " e ON e.name = ?";
    }

    /** A row for each that is stored, or one without a name. None as for {@link #read}. */
    String list(String table) {
        return select(table) + " e ON 1 = 1";
    }

    private String select(String table) {
        String unlessStandby = this == POSTGRESQL ? " WHERE NOT pg_is_in_recovery()" : "";
        return "SELECT e.state, e.version, " + clock + ", e.name FROM (SELECT 1 AS one" + unlessStandby
                + ") o LEFT JOIN " + table;
    }

    /** Parameters: version, state, name. */
    String insert(String table) {
        String insert = this == MARIADB ? "INSERT IGNORE INTO " : "INSERT INTO ";
        String unlessThere = this == POSTGRESQL ? " ON CONFLICT (name) DO NOTHING" : "";
        return insert + table + " (version, state, name) VALUES (?, ?, ?)" + unlessThere + returning();
    }

    /** Parameters: version, state, name, expected version. */
    String update(String table) {
        return "UPDATE " + table + " SET version = ?, state = ? WHERE name = ? AND version = ?" + returning();
    }

    /** Parameters: name, expected version. */
    String delete(String table) {
        return "DELETE FROM " + table + " WHERE name = ? AND version = ?" + returning();
    }

    /** PostgreSQL tells the time with the change; others are asked afterwards. */
    private String returning() {
        return this == POSTGRESQL ? " RETURNING " + clock : "";
    }

    static boolean isMissingTable(SQLException e) {
        return NO_TABLE.contains(state(e));
    }

    /** Somebody else was first: a row of that name, or a change of this one. A violation of another unique index looks the same. */
    static boolean isConflict(SQLException e) {
        return state(e).equals(NOT_UNIQUE) || (state(e).startsWith("40") && !state(e).equals(COMPLETION_UNKNOWN));
    }

    /** The table was made in between. */
    static boolean isThereAlready(SQLException e) {
        return isConflict(e) || THERE_ALREADY.contains(state(e));
    }

    /** The server takes no changes, such as a primary that became a replica. Nothing was done. */
    static boolean isReadOnly(SQLException e) {
        return state(e).equals("25006") || READ_ONLY_IN_MARIADB.contains(e.getErrorCode());
    }

    /**
     * Whether nobody knows what became of the request: there is no answer, or the last word of a server that ends. MariaDB's driver for
     * several hosts connects again by itself, and then gives a state of class 25: only the type says that the connection failed.
     */
    static boolean endsConnection(SQLException e) {
        String state = state(e);
        return isConnectionFailure(e)
                || state.startsWith("08")
                || state.equals(COMPLETION_UNKNOWN)
                || state.startsWith("57P")
                || state.startsWith("58")
                || state.startsWith("XX")
                || ENDS_CONNECTION_TO_H2.contains(state);
    }

    /** By the types that JDBC has for it, whatever the state. */
    private static boolean isConnectionFailure(SQLException e) {
        return e instanceof SQLTransientConnectionException
                || e instanceof SQLNonTransientConnectionException
                || e instanceof SQLRecoverableException;
    }

    private static boolean isUntrusted(SQLException e) {
        for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
            if (cause instanceof CertificateException) {
                return true;
            }
        }
        return false;
    }

    /** The user may not make the table, or its schema is missing. */
    static boolean mayNotCreate(SQLException e) {
        return NO_RIGHT.contains(state(e))
                || NO_RIGHT_IN_MARIADB.contains(e.getErrorCode())
                || state(e).equals("3F000");
    }

    private static String state(SQLException e) {
        return e.getSQLState() == null ? "08000" : e.getSQLState();
    }

    /**
     * Translates why there is no connection. That says nothing of the table: MariaDB refuses a connection too many with the state of
     * statements that are wrong.
     *
     * @param failure what the driver says, or how it fails
     * @param where the database, for the message
     */
    static SemaphoreException refused(@Nullable Throwable failure, String where) {
        SQLException e = failure instanceof SQLException said ? said : new SQLException(failure);
        SemaphoreException noAccess = noAccess(innermost(e), where);
        return noAccess != null ? noAccess : new BackendUnavailableException(said(e, where), e);
    }

    /** What the driver says: a pool wraps it in words of its own, with its state and without its number. */
    private static SQLException innermost(SQLException e) {
        SQLException found = e;
        for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
            found = cause instanceof SQLException said ? said : found;
        }
        return found;
    }

    /**
     * Translates why a statement failed.
     *
     * @param e what the driver says
     * @param sent whether a change was sent, which may have been made
     * @param where the database, for the message
     */
    static SemaphoreException translated(SQLException e, boolean sent, String where) {
        SemaphoreException noAccess = noAccess(e, where);
        if (noAccess != null) {
            return noAccess;
        }
        String what = said(e, where);
        if (sent && endsConnection(e)) {
            return new OutcomeUnknownException(what, e);
        }
        boolean isRefusedByTable = state(e).startsWith("42") || (state(e).startsWith("23") && !isConflict(e));
        if (isRefusedByTable && !isMissingTable(e) && e.getErrorCode() != USER_LIMIT_IN_MARIADB) {
            return new IncompatibleStateException(
                    what + ". The table is not that of this version: name another one by the setting 'table'", e);
        }
        return new BackendUnavailableException(what, e);
    }

    private static String said(SQLException e, String where) {
        return where + " says: " + e.getMessage() + " (SQLState " + state(e) + ")";
    }

    /** Null if access is not the matter. */
    private static @Nullable SemaphoreException noAccess(SQLException e, String where) {
        String state = state(e);
        String what = said(e, where);
        // All translations of the driver's text about TLS have this word.
        boolean lacksPassword = state.equals(REJECTED)
                && e.getErrorCode() == 0
                && !String.valueOf(e.getMessage()).contains("SSL");
        if (state.startsWith("28") || lacksPassword) {
            return new BackendAccessException(what + ". Correct user and password", e);
        }
        if (isUntrusted(e)) {
            return new BackendAccessException(what + ". Name the authority by the setting 'ca'", e);
        }
        if (NO_RIGHT.contains(state) || NO_RIGHT_IN_MARIADB.contains(e.getErrorCode())) {
            return new BackendAccessException(what + ". Grant SELECT, INSERT, UPDATE and DELETE on the table", e);
        }
        return null;
    }
}
