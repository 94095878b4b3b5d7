package io.github.distributedsemaphore.jdbc;

import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A MariaDB server of the tests' own, with its data on disk. */
final class MariaServer extends DatabaseServer {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private volatile @Nullable Process process;

    MariaServer() {
        super("mariadb", "mysql");
        initialize();
        start();
    }

    private void initialize() {
        run(command(
                "mariadb-install-db",
                "--no-defaults",
                "--datadir=" + data(),
                "--auth-root-authentication-method=normal",
                "--skip-test-db"));
    }

    void start() {
        process = begin(command(
                "mariadbd",
                "--no-defaults",
                "--datadir=" + data(),
                "--port=" + port,
                "--bind-address=127.0.0.1",
                "--socket=" + folder.resolve("socket"),
                "--pid-file=" + folder.resolve("pid"),
                "--max-connections=300",
                "--skip-name-resolve"));
        await("MariaDB serves").atMost(PATIENCE).until(this::serves);
        execute(
                "CREATE DATABASE IF NOT EXISTS app",
                "CREATE USER IF NOT EXISTS app IDENTIFIED BY 'app'",
                "GRANT ALL ON app.* TO app");
    }

    private static List<String> command(String... words) {
        List<String> command = new ArrayList<>(List.of(words));
        if (IS_ROOT) {
            command.add("--user=mysql");
        }
        return command;
    }

    private boolean serves() {
        if (!isRunning()) {
            throw new IllegalStateException("MariaDB ended: " + log());
        }
        try (Connection connection = connect()) {
            return connection.isValid(1);
        } catch (SQLException e) {
            return false;
        }
    }

    boolean isRunning() {
        return process != null && process.isAlive();
    }

    long pid() {
        return process.pid();
    }

    /** In order. */
    void stop() {
        process.destroy();
        process.onExit().join();
    }

    void kill() {
        process.destroyForcibly();
        process.onExit().join();
    }

    /** Removes all data of the stopped server. */
    void wipe() {
        delete(data());
        initialize();
    }

    @Override
    Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + port + "/?user=root");
    }

    String uri(String user, String password, String settings) {
        return "jdbc:mariadb://127.0.0.1:" + port + "/app?user=" + user + "&password=" + password + settings;
    }

    @Override
    public void close() {
        kill();
        delete(folder);
    }
}
