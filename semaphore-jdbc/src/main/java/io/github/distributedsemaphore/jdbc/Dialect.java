package io.github.distributedsemaphore.jdbc;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** What databases say differently. */
enum Dialect {
    POSTGRESQL("PostgreSQL", "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"),
    H2("H2", "DATEDIFF(MILLISECOND, TIMESTAMP WITH TIME ZONE '1970-01-01 00:00:00+00', CURRENT_TIMESTAMP)"),
    MARIADB("MariaDB", "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)");

    private final String product;
    private final String clock;

    Dialect(String product, String clock) {
        this.product = product;
        this.clock = clock;
    }

    static Dialect of(String name) {
        for (Dialect dialect : values()) {
            if (dialect.id().equals(name)) {
                return dialect;
            }
        }
        throw new IllegalArgumentException(
                "There is no dialect '" + name + "': it must be postgresql, h2 or mariadb, as in jdbc:postgresql:");
    }

    String id() {
        return name().toLowerCase(Locale.ROOT);
    }

    String product() {
        return product;
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

    /** One row, with the database's clock also where nothing is stored. */
    String read(String table) {
        return "SELECT 0, e.state, e.version, " + clock + " FROM (SELECT 1 AS one) o LEFT JOIN " + table
                + " e ON e.name = ?";
    }

    String list(String table) {
        return "SELECT name, state, version, " + clock + " FROM " + table;
    }

    /** Parameters: name, version, state. */
    String insert(String table) {
        String values = " INTO " + table + " (name, version, state) VALUES (?, ?, ?)";
        return switch (this) {
            case POSTGRESQL -> "INSERT" + values + " ON CONFLICT (name) DO NOTHING";
            case H2 -> "INSERT" + values;
            case MARIADB -> "INSERT IGNORE" + values;
        };
    }

    /** Parameters: version, state, name, expected version. */
    String update(String table) {
        return "UPDATE " + table + " SET version = ?, state = ? WHERE name = ? AND version = ?";
    }

    /** Parameters: name, expected version. */
    String delete(String table) {
        return "DELETE FROM " + table + " WHERE name = ? AND version = ?";
    }

    /**
     * PostgreSQL makes the change, tells about it, and shows what is there instead, in one statement: one request. More parameters:
     * whether to tell, the channel, and the name again.
     */
    String changeAndRead(String change, String table) {
        return "WITH done AS (" + change + " RETURNING CASE WHEN ? THEN pg_notify(?, name) END)"
                + " SELECT (SELECT count(*) FROM done), e.state, e.version, " + clock
                + " FROM (SELECT 1) o LEFT JOIN " + table
                + " e ON e.name = ? AND NOT EXISTS (SELECT FROM done)";
    }
}
