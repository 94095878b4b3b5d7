package io.github.distributedsemaphore.jdbc;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** A MariaDB server of the tests' own, with its data on disk. */
final class MariaServer extends DatabaseServer {
    MariaServer() {
        super("MariaDB", "mysql");
        initialize();
        start();
    }

    private void initialize() {
        List<String> command = command(
                "mariadb-install-db",
                "--no-defaults",
                "--datadir=" + process.data(),
                "--auth-root-authentication-method=normal",
                "--skip-test-db");
        process.run(command, "");
    }

    void start() {
        List<String> command = command(
                "mariadbd",
                "--no-defaults",
                "--datadir=" + process.data(),
                "--port=" + port,
                "--bind-address=127.0.0.1",
                "--socket=" + process.folder().resolve("socket"),
                "--pid-file=" + process.folder().resolve("pid"),
                "--max-connections=300",
                "--skip-name-resolve");
        process.start(command, this::serves);
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
        try (Connection connection = connect()) {
            return connection.isValid(1);
        } catch (SQLException e) {
            return false;
        }
    }

    /** Removes all data of the stopped server. */
    void wipe() {
        process.wipe();
        initialize();
    }

    @Override
    Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + port + "/?user=root");
    }

    String uri(String user, String password, String settings) {
        return "jdbc:mariadb://127.0.0.1:" + port + "/app?user=" + user + "&password=" + password + settings;
    }
}
