package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.Deadline;
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
import org.jspecify.annotations.Nullable;

/**
 * A table with a row for each name. Each request is a statement that commits by itself, so that no lock outlives it. Versions are
 * random numbers of 63 bits: none comes again, also not after its row was removed.
 */
final class JdbcStore implements CasStore {
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

    /** What is sent on one connection. Not thread-safe. */
    private final class Call {
        private final Connection connection;
        private boolean sent;

        Call(Connection connection) {
            this.connection = connection;
        }

        Entry read(String name) throws SQLException {
            try (PreparedStatement select = connection.prepareStatement(dialect.read(table))) {
                select.setString(1, stored(name));
                try (ResultSet row = select.executeQuery()) {
                    return entry(row);
                }
            } catch (SQLException e) {
                if (SqlFailures.isMissingTable(e)) {
                    return withoutTable();
                }
                throw e;
            }
        }

        private Entry withoutTable() throws SQLException {
            String empty = "(SELECT '' AS name, '' AS state, 0 AS version)";
            try (PreparedStatement select = connection.prepareStatement(dialect.read(empty))) {
                select.setString(1, "?");
                try (ResultSet row = select.executeQuery()) {
                    return entry(row);
                }
            }
        }

        Written write(Change change) throws SQLException {
            long version = 1 + ThreadLocalRandom.current().nextLong(Long.MAX_VALUE - 1);
            try {
                return dialect.hasHints() ? writeAndRead(change, version) : writeThenRead(change, version);
            } catch (SQLException e) {
                if (SqlFailures.isConflict(e)) {
                    return new Written(false, read(change.name()));
                }
                if (SqlFailures.isMissingTable(e) && change.expected() == 0) {
                    createTable();
                    return write(change);
                }
                throw e;
            }
        }

        private String sql(Change change) {
            if (change.expected() == 0) {
                return dialect.insert(table);
            }
            return change.value().isEmpty() ? dialect.delete(table) : dialect.update(table);
        }

        private int set(PreparedStatement statement, Change change, long version) throws SQLException {
            String name = stored(change.name());
            int next = 1;
            if (change.expected() == 0) {
                statement.setString(next++, name);
                statement.setLong(next++, version);
                statement.setString(next++, change.value());
                return next;
            }
            if (!change.value().isEmpty()) {
                statement.setLong(next++, version);
                statement.setString(next++, change.value());
            }
            statement.setString(next++, name);
            statement.setLong(next++, change.expected());
            return next;
        }

        private Written writeAndRead(Change change, long version) throws SQLException {
            try (PreparedStatement statement = connection.prepareStatement(dialect.changeAndRead(sql(change), table))) {
                int next = set(statement, change, version);
                statement.setBoolean(next++, change.hint());
                statement.setString(next++, PostgresHints.channel(table));
                statement.setString(next, stored(change.name()));
                sent = true;
                try (ResultSet row = statement.executeQuery()) {
                    Entry now = entry(row);
                    boolean done = row.getInt(1) == 1;
                    return new Written(done, done ? written(change, version, now) : now);
                }
            }
        }

        private Written writeThenRead(Change change, long version) throws SQLException {
            boolean done;
            try (PreparedStatement statement = connection.prepareStatement(sql(change))) {
                int unused = set(statement, change, version);
                sent = true;
                done = statement.executeUpdate() == 1;
            }
            Entry now = read(change.name());
            return new Written(done, done ? written(change, version, now) : now);
        }

        private void createTable() throws SQLException {
            sent = false;
            try (Statement statement = connection.createStatement()) {
                statement.execute(dialect.schema(table));
            } catch (SQLException e) {
                // Two that create it at once meet in the catalog.
                if (!SqlFailures.isConflict(e)) {
                    throw e;
                }
            }
        }
    }

    private static Entry written(Change change, long version, Entry now) {
        boolean removed = change.value().isEmpty();
        return new Entry(change.value(), removed ? 0 : version, now.clockMillis());
    }

    private static Entry entry(ResultSet row) throws SQLException {
        if (!row.next()) {
            throw new SQLException("the database answered without a row");
        }
        String state = row.getString(2);
        long version = row.getLong(3);
        return new Entry(state == null ? "" : state, version, row.getLong(4));
    }

    @Override
    public Entry read(String name, Deadline end) {
        try {
            return connections.with(end, connection -> new Call(connection).read(name));
        } catch (SQLException e) {
            throw SqlFailures.translated(e, false, where);
        }
    }

    @Override
    public Written write(Change change, Deadline end) {
        Call[] call = new Call[1];
        try {
            return connections.with(end, connection -> {
                call[0] = new Call(connection);
                return call[0].write(change);
            });
        } catch (SQLException e) {
            throw SqlFailures.translated(e, call[0] != null && call[0].sent, where);
        }
    }

    @Override
    public Map<String, Entry> list(Deadline end) {
        try {
            return connections.with(end, this::listed);
        } catch (SQLException e) {
            if (SqlFailures.isMissingTable(e)) {
                return Map.of();
            }
            throw SqlFailures.translated(e, false, where);
        }
    }

    private Map<String, Entry> listed(Connection connection) throws SQLException {
        Map<String, Entry> found = new HashMap<>();
        try (PreparedStatement select = connection.prepareStatement(dialect.list(table));
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                found.put(named(row.getString(1)), new Entry(row.getString(2), row.getLong(3), row.getLong(4)));
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
    public BackendSession.@Nullable Watch watch(String name, Runnable hint) {
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
