package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import java.sql.SQLException;
import java.util.Set;

/** What an error of a database means for a semaphore, by its SQLState. */
final class SqlFailures {
    private static final Set<String> NO_TABLE = Set.of("42P01", "3F000", "42S02", "42S03", "42S04");
    /** PostgreSQL; H2; MariaDB says 42000 for much, and tells by the number. */
    private static final Set<String> NO_RIGHT = Set.of("42501", "90096");

    private static final Set<Integer> NO_RIGHT_IN_MARIADB = Set.of(1044, 1142, 1143, 1227);

    private SqlFailures() {}

    private static String state(SQLException e) {
        return e.getSQLState() == null ? "08000" : e.getSQLState();
    }

    static boolean isMissingTable(SQLException e) {
        return NO_TABLE.contains(state(e));
    }

    /** Somebody else was first: a row of that name, or a change of this one. */
    static boolean isConflict(SQLException e) {
        return state(e).startsWith("23") || state(e).startsWith("40");
    }

    /** Whether nobody knows what became of the request: there is no answer, or the last word of a server that ends. */
    static boolean endsConnection(SQLException e) {
        String state = state(e);
        return state.startsWith("08") || state.startsWith("57P") || state.startsWith("58") || state.startsWith("XX");
    }

    /**
     * Translates.
     *
     * @param e what the driver says
     * @param sent whether a change was sent, which may have been made
     * @param where the database, for the message
     */
    static SemaphoreException translated(SQLException e, boolean sent, String where) {
        String state = state(e);
        String what = where + " says: " + e.getMessage() + " (SQLState " + state + ")";
        if (state.startsWith("28")) {
            return new BackendAccessException(what + ". Correct user and password", e);
        }
        if (NO_RIGHT.contains(state) || NO_RIGHT_IN_MARIADB.contains(e.getErrorCode())) {
            return new BackendAccessException(what + ". Grant SELECT, INSERT, UPDATE and DELETE on the table", e);
        }
        if (sent && endsConnection(e)) {
            return new OutcomeUnknownException(what, e);
        }
        if (state.startsWith("42") && !isMissingTable(e)) {
            return new IncompatibleStateException(
                    what + ". The table is not that of this version: name another one by the setting 'table'", e);
        }
        return new BackendUnavailableException(what, e);
    }
}
