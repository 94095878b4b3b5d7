package io.github.distributedsemaphore.jdbc;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** A MariaDB server of the tests' own. */
final class MariaServer extends DatabaseServer {
    MariaServer() {
        super("MariaDB", "mysql");
        String data = "--datadir=" + process.data();
        process.run(
                command(
                        "mariadb-install-db",
                        "--no-defaults",
                        data,
                        "--auth-root-authentication-method=normal",
                        "--skip-test-db"),
                "");
        List<String> command = command(
                "mariadbd",
                "--no-defaults",
                data,
                "--port=" + port,
                "--bind-address=127.0.0.1",
                "--socket=" + process.folder().resolve("socket"),
                "--pid-file=" + process.folder().resolve("pid"),
                "--max-connections=300",
                "--skip-name-resolve");
        process.start(command, this::serves);
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
}
