package io.github.distributedsemaphore.jdbc;

import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A MariaDB server of the tests' own. */
final class MariaServer extends DatabaseServer {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final Process process;

    MariaServer() {
        super("mariadb", "mysql");
        String data = "--datadir=" + data();
        run(command(
                "mariadb-install-db",
                "--no-defaults",
                data,
                "--auth-root-authentication-method=normal",
                "--skip-test-db"));
        process = begin(command(
                "mariadbd",
                "--no-defaults",
                data,
                "--port=" + port,
                "--bind-address=127.0.0.1",
                "--socket=" + folder.resolve("socket"),
                "--pid-file=" + folder.resolve("pid"),
                "--max-connections=300",
                "--skip-name-resolve"));
        await("MariaDB serves").atMost(PATIENCE).until(this::serves);
        execute("CREATE DATABASE app", "CREATE USER app IDENTIFIED BY 'app'", "GRANT ALL ON app.* TO app");
    }

    private static List<String> command(String... words) {
        List<String> command = new ArrayList<>(List.of(words));
        if (IS_ROOT) {
            command.add("--user=mysql");
        }
        return command;
    }

    private boolean serves() {
        if (!process.isAlive()) {
            throw new IllegalStateException("MariaDB ended: " + log());
        }
        try (Connection connection = connect()) {
            return connection.isValid(1);
        } catch (SQLException e) {
            return false;
        }
    }

    @Override
    Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + port + "/?user=root");
    }

    String uri(String settings) {
        return "jdbc:mariadb://127.0.0.1:" + port + "/app?user=app&password=app" + settings;
    }

    @Override
    public void close() {
        process.destroyForcibly();
        process.onExit().join();
        delete(folder);
    }
}
