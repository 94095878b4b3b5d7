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
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A table with a row for each name. Each request is a statement that commits by itself, so that no lock outlives it. Versions are
 * random numbers of 63 bits: none comes again, also not after its row was removed.
 */
final class JdbcStore implements CasStore {
    private static final String NO_TABLE = "(SELECT '' AS name, '' AS state, 0 AS version)";
    private static final Pattern SPECIAL = Pattern.compile("[\\x00-\\x1f%]");
    private static final Pattern ESCAPED = Pattern.compile("%(\\p{XDigit}{2})");

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

    /** Does something on a connection, and translates its failure. */
    private <T> T with(Deadline end, boolean changes, Connections.Work<T> work) {
        boolean[] sent = new boolean[1];
        try {
            return connections.with(end, connection -> {
                sent[0] = changes;
                return work.with(connection);
            });
        } catch (SQLException e) {
            throw Dialect.translated(e, sent[0], where);
        }
    }

    @Override
    public Entry read(String name, Deadline end) {
        return with(end, false, connection -> read(connection, name));
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
        return with(end, true, connection -> write(connection, change));
    }

    private Written write(Connection connection, Change change) throws SQLException {
        long version =
                change.value().isEmpty() ? 0 : 1 + ThreadLocalRandom.current().nextLong(Long.MAX_VALUE - 1);
        boolean done = false;
        try (PreparedStatement statement = connection.prepareStatement(sql(change))) {
            set(statement, change, version);
            if (!statement.execute()) {
                done = statement.getUpdateCount() == 1;
            } else {
                ResultSet row = statement.getResultSet();
                if (row.next()) {
                    return new Written(true, new Entry(change.value(), version, row.getLong(1)));
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
            return new Written(done, done ? new Entry(change.value(), version, now.clockMillis()) : now);
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
        List<Object> values = new ArrayList<>();
        if (!change.value().isEmpty()) {
            values.add(version);
            values.add(change.value());
        }
        values.add(stored(change.name()));
        if (change.expected() != 0) {
            values.add(change.expected());
        }
        if (notifies(change)) {
            values.add(PostgresHints.channel(table));
            values.add(stored(change.name()) + '\n' + change.hint());
        }
        for (int i = 0; i < values.size(); i++) {
            statement.setObject(i + 1, values.get(i));
        }
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
        return with(end, false, this::list);
    }

    private Map<String, Entry> list(Connection connection) throws SQLException {
        Map<String, Entry> found = new HashMap<>();
        try (PreparedStatement select = connection.prepareStatement(dialect.list(table));
                ResultSet row = select.executeQuery()) {
            while (row.next()) {
                found.put(named(row.getString(4)), entry(row));
            }
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
        return ESCAPED.matcher(stored).replaceAll(JdbcStore::character);
    }

    private static String character(MatchResult escaped) {
        return Matcher.quoteReplacement(Character.toString(Integer.parseInt(escaped.group(1), 16)));
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
