package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.Permit;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import javax.sql.DataSource;

/** Stores a report, unless somebody with a newer permit of the same slot has been here. */
final class FencedWrite {
    private static final String CHECK = "INSERT INTO fences VALUES (?, ?, ?) ON CONFLICT (semaphore, slot)"
            + " DO UPDATE SET epoch = excluded.epoch WHERE fences.epoch <= excluded.epoch";

    private final DataSource database;

    FencedWrite(DataSource database) {
        this.database = database;
    }

    boolean store(Permit permit, String report) throws SQLException {
        try (Connection connection = database.getConnection()) {
            connection.setAutoCommit(false);
            boolean current = check(connection, permit);
            if (current) {
                try (PreparedStatement write = connection.prepareStatement("INSERT INTO reports VALUES (?)")) {
                    write.setString(1, report);
                    current = write.executeUpdate() == 1;
                }
            }
            connection.commit();
            return current;
        }
    }

    /** One row if this permit is the newest of its slot, none if it is not. */
    private static boolean check(Connection connection, Permit permit) throws SQLException {
        try (PreparedStatement check = connection.prepareStatement(CHECK)) {
            check.setString(1, permit.semaphoreName());
            check.setInt(2, permit.fence().slot());
            check.setLong(3, permit.fence().epoch());
            return check.executeUpdate() == 1;
        }
    }
}
