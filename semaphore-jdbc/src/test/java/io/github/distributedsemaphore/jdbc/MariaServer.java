package io.github.distributedsemaphore.jdbc;

import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A MariaDB server of the tests' own, in a temporary folder, on a free port of the loopback. As root it runs as {@code mysql}. */
final class MariaServer implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final boolean IS_ROOT = "root".equals(System.getProperty("user.name"));

    private final Path folder;
    private final int port = FreePorts.choose(1).get(0);
    private final Process process;

    MariaServer() throws Exception {
        folder = Files.createTempDirectory("semaphore-mariadb");
        if (IS_ROOT) {
            Files.setOwner(
                    folder,
                    folder.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("mysql"));
        }
        String data = "--datadir=" + folder.resolve("data");
        Process prepared = start(
                "mariadb-install-db",
                "--no-defaults",
                data,
                "--auth-root-authentication-method=normal",
                "--skip-test-db");
        if (!prepared.waitFor(60, TimeUnit.SECONDS) || prepared.exitValue() != 0) {
            throw new IllegalStateException(log());
        }
        process = start(
                "mariadbd",
                "--no-defaults",
                data,
                "--port=" + port,
                "--bind-address=127.0.0.1",
                "--socket=" + folder.resolve("socket"),
                "--pid-file=" + folder.resolve("pid"),
                "--max-connections=300",
                "--skip-name-resolve");
        await("MariaDB serves").atMost(PATIENCE).until(this::serves);
        execute("CREATE DATABASE app", "CREATE USER app IDENTIFIED BY 'app'", "GRANT ALL ON app.* TO app");
    }

    private Process start(String... words) throws IOException {
        List<String> command = new ArrayList<>(List.of(words));
        if (IS_ROOT) {
            command.add("--user=mysql");
        }
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(
                        ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()))
                .start();
    }

    private String log() throws IOException {
        return Files.readString(folder.resolve("log"));
    }

    private boolean serves() throws IOException {
        if (!process.isAlive()) {
            throw new IllegalStateException("MariaDB ended: " + log());
        }
        try (Connection connection = connect()) {
            return connection.isValid(1);
        } catch (SQLException e) {
            return false;
        }
    }

    /** Of an operator, past the adapter. */
    private Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:mariadb://127.0.0.1:" + port + "/?user=root");
    }

    void execute(String... statements) {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (String one : statements) {
                statement.execute(one);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The first column of all rows; nothing if there is no such table. */
    List<String> query(String select) {
        List<String> found = new ArrayList<>();
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(select)) {
            while (rows.next()) {
                found.add(rows.getString(1));
            }
        } catch (SQLException e) {
            if (!Dialect.isMissingTable(e)) {
                throw new IllegalStateException(e);
            }
        }
        return found;
    }

    String uri(String settings) {
        return "jdbc:mariadb://127.0.0.1:" + port + "/app?user=app&password=app" + settings;
    }

    @Override
    public void close() {
        process.destroyForcibly();
        process.onExit().join();
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
