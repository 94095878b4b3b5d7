package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.support.CasStore;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A table with a row for each name. Each request is a statement that commits by itself, so that no lock outlives it. Versions are
 * random numbers of 63 bits: none comes again, also not after its row was removed.
 */
final class JdbcStore implements CasStore {
    private static final String NO_TABLE = "(SELECT '' AS name, '' AS state, 0 AS version)";
    private static final String READ_ONLY = "25006";
    private static final String NO_RIGHT = "42501";
    private static final Pattern SPECIAL = Pattern.compile("[\\x00-\\x1f%]");
    private static final Pattern ESCAPED = Pattern.compile("%(\\p{XDigit}{2})");

    private final Connections connections;
    private final Dialect dialect;
    private final String table;
    private final @Nullable PostgresHints hints;

    JdbcStore(Connections connections, Dialect dialect, String table, @Nullable PostgresHints hints) {
        this.connections = connections;
        this.dialect = dialect;
        this.table = table;
        this.hints = hints;
    }

    private static PreparedStatement prepared(Connection connection, String sql, List<?> values) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int i = 0; i < values.size(); i++) {
            statement.setObject(i + 1, values.get(i));
        }
        return statement;
    }

    @Override
    public Entry read(String name, Deadline end) {
        return connections.with(end, false, connection -> read(connection, table, name));
    }

    private Entry read(Connection connection, String from, String name) throws SQLException {
        try (PreparedStatement select = prepared(connection, dialect.read(from), List.of(stored(name)));
                ResultSet row = select.executeQuery()) {
            requireRow(row.next());
            return entry(row);
        } catch (SQLException e) {
            if (Dialect.isMissingTable(e) && !from.equals(NO_TABLE)) {
                return read(connection, NO_TABLE, name);
            }
            throw e;
        }
    }

    private static void requireRow(boolean isThere) throws SQLException {
        if (!isThere) {
            throw new SQLException("this server is a standby, which may be behind", READ_ONLY);
        }
    }

    private static Entry entry(ResultSet row) throws SQLException {
        String state = row.getString(1);
        return new Entry(state == null ? "" : state, row.getLong(2), row.getLong(3));
    }

    @Override
    public Written write(Change change, Deadline end) {
        return connections.with(end, true, connection -> write(connection, change));
    }

    private Written write(Connection connection, Change change) throws SQLException {
        long version =
                change.value().isEmpty() ? 0 : 1 + ThreadLocalRandom.current().nextLong(Long.MAX_VALUE - 1);
        // PostgreSQL tells the time with the change. Others are asked before: nothing that is done is left without an
        // answer.
        long asked = dialect == Dialect.POSTGRESQL
                ? 0
                : read(connection, table, change.name()).clockMillis();
        try {
            Written done = changed(connection, change, version, asked);
            if (done != null) {
                return done;
            }
        } catch (SQLException e) {
            if (Dialect.isMissingTable(e) && change.expected() == 0) {
                createTable(connection);
                return write(connection, change);
            }
            // A row that was known is gone with its table.
            if (!Dialect.isConflict(e) && !Dialect.isMissingTable(e)) {
                throw e;
            }
        }
        return new Written(false, read(connection, table, change.name()));
    }

    /** Null if the row is not as it was expected. */
    private @Nullable Written changed(Connection connection, Change change, long version, long asked)
            throws SQLException {
        PreparedStatement statement = prepared(connection, change, version);
        try {
            statement.execute();
            ResultSet row = statement.getResultSet();
            if (row == null ? statement.getUpdateCount() == 1 : row.next()) {
                long clock = row == null ? asked : row.getLong(1);
                return new Written(true, new Entry(change.value(), version, clock));
            }
            return null;
        } finally {
            closeQuietly(statement);
        }
    }

    /** The change was made or refused before. A connection that is broken fails at its next use. */
    private static void closeQuietly(Statement statement) {
        try {
            statement.close();
        } catch (SQLException | RuntimeException e) {
            // Thrown, it would pass for a failure of the change.
        }
    }

    private PreparedStatement prepared(Connection connection, Change change, long version) throws SQLException {
        String name = stored(change.name());
        String sql = dialect.update(table);
        List<Object> values = new ArrayList<>(List.of(version, change.value(), name, change.expected()));
        if (change.expected() == 0) {
            sql = dialect.insert(table);
            values.remove(3);
        } else if (change.value().isEmpty()) {
            sql = dialect.delete(table);
            values.subList(0, 2).clear();
        }
        if (dialect.hasHints() && !change.hint().isEmpty()) {
            sql += ", pg_notify(?, ?)";
            values.addAll(List.of(PostgresHints.channel(table), name + '\n' + change.hint()));
        }
        return prepared(connection, sql, values);
    }

    private void createTable(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            try {
                statement.execute(dialect.schema(table));
            } catch (SQLException e) {
                if (Dialect.mayNotCreate(e)) {
                    throw new SQLException(
                            "there is no table '" + table + "', and this user may not make it (" + e.getMessage()
                                    + "): let an operator run the script that JdbcSemaphores.schema(\"" + dialect.id()
                                    + "\", \"" + table + "\") returns",
                            NO_RIGHT,
                            e);
                }
                if (!Dialect.isThereAlready(e)) {
                    throw e;
                }
                // Two that create it at once meet in the catalog. Now it is there, unless something else has its name.
                statement.execute(dialect.schema(table));
            }
        }
    }

    @Override
    public Map<String, Entry> list(Deadline end) {
        return connections.with(end, false, this::list);
    }

    private Map<String, Entry> list(Connection connection) throws SQLException {
        Map<String, Entry> found = new HashMap<>();
        try (PreparedStatement select = connection.prepareStatement(dialect.list(table));
                ResultSet row = select.executeQuery()) {
            requireRow(row.next());
            do {
                String name = row.getString(4);
                if (name != null) {
                    found.put(named(name), entry(row));
                }
            } while (row.next());
        } catch (SQLException e) {
            if (!Dialect.isMissingTable(e)) {
                throw e;
            }
        }
        return found;
    }

    /** Names as they are stored: PostgreSQL has no character 0, and an operator wants to see the others. */
    static String stored(String name) {
        return SPECIAL.matcher(name)
                .replaceAll(found -> String.format("%%%02x", (int) found.group().charAt(0)));
    }

    private static String named(String stored) {
        return ESCAPED.matcher(stored)
                .replaceAll(
                        found -> Matcher.quoteReplacement(Character.toString(Integer.parseInt(found.group(1), 16))));
    }

    @Override
    public BackendSession.@Nullable Watch watch(String name, Consumer<String> hint) {
        return hints == null ? null : hints.watch(stored(name), hint);
    }

    @Override
    public void close() {
        if (hints != null) {
            hints.close();
        }
        connections.close();
    }
}
