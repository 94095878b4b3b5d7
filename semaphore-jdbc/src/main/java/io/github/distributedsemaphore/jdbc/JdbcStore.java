package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.support.CasStore;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A table with a row for each name. Each request is a statement that commits by itself, so that no lock outlives it. Versions are
 * random numbers of 63 bits: none comes again, also not after its row was removed.
 */
final class JdbcStore implements CasStore {
    private static final String NO_TABLE = "(SELECT '' AS name, '' AS state, 0 AS version)";

    private final Connections connections;
    private final Dialect dialect;
    private final String table;
    private final String where;
    private final @Nullable PostgresHints hints;

    JdbcStore(Connections connections, Dialect dialect, String table, String where, @Nullable PostgresHints hints) {
        this.connections = connections;
        this.dialect = dialect;
        this.table = table;
        this.where = where;
        this.hints = hints;
    }

    @Override
    public Entry read(String name, Deadline end) {
        try {
            return connections.with(end, connection -> read(connection, name));
        } catch (SQLException e) {
            throw Dialect.translated(e, false, where);
        }
    }

    private Entry read(Connection connection, String name) throws SQLException {
        try {
            return read(connection, table, name);
        } catch (SQLException e) {
            if (Dialect.isMissingTable(e)) {
                return read(connection, NO_TABLE, "?");
            }
            throw e;
        }
    }

    private Entry read(Connection connection, String from, String name) throws SQLException {
        try (PreparedStatement select = connection.prepareStatement(dialect.read(from))) {
            select.setString(1, stored(name));
            try (ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    throw new SQLException("the database answered without a row");
                }
                return entry(row);
            }
        }
    }

    private static Entry entry(ResultSet row) throws SQLException {
        String state = row.getString(1);
        return new Entry(state == null ? "" : state, row.getLong(2), row.getLong(3));
    }

    @Override
    public Written write(Change change, Deadline end) {
        boolean[] sent = new boolean[1];
        try {
            return connections.with(end, connection -> {
                sent[0] = true;
                return write(connection, change);
            });
        } catch (SQLException e) {
            throw Dialect.translated(e, sent[0], where);
        }
    }

    private Written write(Connection connection, Change change) throws SQLException {
        long version = 1 + ThreadLocalRandom.current().nextLong(Long.MAX_VALUE - 1);
        boolean done = false;
        try (PreparedStatement statement = connection.prepareStatement(sql(change))) {
            set(statement, change, version);
            if (!statement.execute()) {
                done = statement.getUpdateCount() == 1;
            } else {
                try (ResultSet row = statement.getResultSet()) {
                    if (row.next()) {
                        return new Written(true, written(change, version, row.getLong(1)));
                    }
                }
            }
        } catch (SQLException e) {
            if (Dialect.isMissingTable(e) && change.expected() == 0) {
                createTable(connection);
                return write(connection, change);
            }
            if (!Dialect.isConflict(e)) {
                throw e;
            }
        }
        try {
            Entry now = read(connection, change.name());
            return new Written(done, done ? written(change, version, now.clockMillis()) : now);
        } catch (SQLException e) {
            if (done) {
                throw new OutcomeUnknownException(where + " failed after the change: " + e.getMessage(), e);
            }
            throw e;
        }
    }

    private String sql(Change change) {
        String statement = change.value().isEmpty() ? dialect.delete(table) : dialect.update(table);
        statement = change.expected() == 0 ? dialect.insert(table) : statement;
        return notifies(change) ? statement + ", pg_notify(?, ?)" : statement;
    }

    private boolean notifies(Change change) {
        return dialect.hasHints() && !change.hint().isEmpty();
    }

    private void set(PreparedStatement statement, Change change, long version) throws SQLException {
        int next = 1;
        if (!change.value().isEmpty()) {
            statement.setLong(next++, version);
            statement.setString(next++, change.value());
        }
        statement.setString(next++, stored(change.name()));
        if (change.expected() != 0) {
            statement.setLong(next++, change.expected());
        }
        if (notifies(change)) {
            statement.setString(next++, PostgresHints.channel(table));
            statement.setString(next, stored(change.name()) + '\n' + change.hint());
        }
    }

    private static Entry written(Change change, long version, long clock) {
        return new Entry(change.value(), change.value().isEmpty() ? 0 : version, clock);
    }

    private void createTable(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(dialect.schema(table));
        } catch (SQLException e) {
            // Two that create it at once meet in the catalog.
            if (!Dialect.isConflict(e)) {
                throw e;
            }
        }
    }

    @Override
    public Map<String, Entry> list(Deadline end) {
        try {
            return connections.with(end, this::listed);
        } catch (SQLException e) {
            if (Dialect.isMissingTable(e)) {
                return Map.of();
            }
            throw Dialect.translated(e, false, where);
        }
    }

    private Map<String, Entry> listed(Connection connection) throws SQLException {
        Map<String, Entry> found = new HashMap<>();
        try (PreparedStatement select = connection.prepareStatement(dialect.list(table));
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                found.put(named(row.getString(4)), entry(row));
            }
        }
        return found;
    }

    /** Names as they are stored: PostgreSQL has no character 0, and an operator wants to see the others. */
    static String stored(String name) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            if (c < ' ' || c == '%') {
                text.append(String.format("%%%02x", (int) c));
            } else {
                text.append(c);
            }
        }
        return text.toString();
    }

    static String named(String stored) {
        StringBuilder name = new StringBuilder();
        for (int i = 0; i < stored.length(); i++) {
            boolean escaped = stored.charAt(i) == '%' && i + 2 < stored.length();
            name.append(escaped ? (char) Integer.parseInt(stored.substring(i + 1, i + 3), 16) : stored.charAt(i));
            i += escaped ? 2 : 0;
        }
        return name.toString();
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
