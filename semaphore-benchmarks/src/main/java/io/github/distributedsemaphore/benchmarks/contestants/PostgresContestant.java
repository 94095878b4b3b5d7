package io.github.distributedsemaphore.benchmarks.contestants;

import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** What one writes by hand over PostgreSQL, with a connection for each thread. */
public abstract class PostgresContestant implements Contestant {
    private final List<Connection> connections = new ArrayList<>();

    PostgresContestant(Variant variant, String uri) {
        try {
            for (int thread = 0; thread < variant.threads(); thread++) {
                connections.add(connect(uri));
            }
        } catch (SQLException e) {
            throw new BrokenRunException("no connection to PostgreSQL", e);
        }
    }

    public static Connection connect(String uri) throws SQLException {
        return DriverManager.getConnection("jdbc:" + uri.replaceFirst("//(\\w+)@(.*)", "//$2?user=$1"));
    }

    Connection connection(int thread) {
        return connections.get(thread);
    }

    static BrokenRunException broken(SQLException e) {
        return new BrokenRunException("PostgreSQL failed", e);
    }

    @Override
    public void close() {
        for (Connection connection : connections) {
            try {
                connection.close();
            } catch (SQLException e) {
                throw broken(e);
            }
        }
    }

    /** No semaphore: an UPDATE that commits for an acquire and one for a release, of a row of each thread. */
    static final class Updates extends PostgresContestant {
        private final String row;

        Updates(Variant variant, String uri) {
            super(variant, uri);
            row = variant.semaphore(0) + "-" + ProcessHandle.current().pid() + "-";
            execute(0, "CREATE TABLE IF NOT EXISTS bare (name text PRIMARY KEY, state text) WITH (fillfactor = 50)");
            for (int thread = 0; thread < variant.threads(); thread++) {
                execute(thread, "INSERT INTO bare VALUES ('" + row + thread + "', '')");
            }
        }

        private void execute(int thread, String statement) {
            try (PreparedStatement prepared = connection(thread).prepareStatement(statement)) {
                boolean unused = prepared.execute();
            } catch (SQLException e) {
                // Two processes that make the table at once meet in the catalog.
                if (!"23505".equals(e.getSQLState())) {
                    throw broken(e);
                }
            }
        }

        @Override
        public Pass acquire(int thread, int name) {
            update(thread);
            return Pass.withoutSlot(() -> update(thread));
        }

        private void update(int thread) {
            try (PreparedStatement update =
                    connection(thread).prepareStatement("UPDATE bare SET state = ? WHERE name = ?")) {
                update.setString(
                        1,
                        "as long as the line of a holder of a semaphore, with its session and its lease, at "
                                + System.nanoTime());
                update.setString(2, row + thread);
                if (update.executeUpdate() != 1) {
                    throw new BrokenRunException("the row is gone");
                }
            } catch (SQLException e) {
                throw broken(e);
            }
        }
    }

    /** A semaphore of advisory locks, one for each place, that is polled: the usual home-made way. It writes nothing to the disk. */
    static final class AdvisoryLocks extends PostgresContestant {
        private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

        private final int limit;
        private final int namespace;

        AdvisoryLocks(Variant variant, String uri) {
            super(variant, uri);
            limit = variant.limit();
            namespace = variant.semaphore(0).hashCode();
        }

        @Override
        public Pass acquire(int thread, int name) {
            while (true) {
                int first = ThreadLocalRandom.current().nextInt(limit);
                for (int i = 0; i < limit; i++) {
                    int place = (first + i) % limit;
                    if (ask(thread, "SELECT pg_try_advisory_lock(?, ?)", place)) {
                        return Pass.withoutSlot(() -> giveBack(thread, place));
                    }
                }
                LockSupport.parkNanos(POLL_NANOS);
            }
        }

        private void giveBack(int thread, int place) {
            if (!ask(thread, "SELECT pg_advisory_unlock(?, ?)", place)) {
                throw new BrokenRunException("an advisory lock was not held");
            }
        }

        private boolean ask(int thread, String query, int place) {
            try (PreparedStatement select = connection(thread).prepareStatement(query)) {
                select.setInt(1, namespace);
                select.setInt(2, place);
                try (ResultSet row = select.executeQuery()) {
                    return row.next() && row.getBoolean(1);
                }
            } catch (SQLException e) {
                throw broken(e);
            }
        }
    }
}
