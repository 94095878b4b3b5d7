package io.github.distributedsemaphore.benchmarks.servers;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.github.distributedsemaphore.benchmarks.contestants.PostgresContestant;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PostgresProcessTest {
    private static final long UPDATES = 100;

    @TempDir
    private Path folder;

    @Test
    void eachWriteCountsAtOnceAndNoRead() throws SQLException {
        try (PostgresProcess server = new PostgresProcess(folder, 20, PostgresProcess.Counted.WRITES);
                Connection connection = PostgresContestant.connect(server.uri());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE counted (n int)");
            statement.execute("INSERT INTO counted VALUES (0)");
            ServerUse before = server.use();
            for (long i = 0; i < UPDATES; i++) {
                statement.execute("UPDATE counted SET n = n + 1");
                statement.execute("SELECT n FROM counted");
            }

            // The server's own work may add a few.
            assertThat(server.use().since(before).commands()).isBetween(UPDATES, UPDATES + 10);
        }
    }
}
