package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A database server of the tests' own, with its data in a temporary folder, on a free port of the loopback. Where the tests run as
 * root it runs as the user that its package makes.
 */
abstract class DatabaseServer implements AutoCloseable {
    static final boolean IS_ROOT = "root".equals(System.getProperty("user.name"));

    final Path folder;
    final int port = FreePorts.choose(1).get(0);
    private final String user;

    DatabaseServer(String product, String user) {
        this.user = user;
        try {
            folder = Files.createTempDirectory("semaphore-" + product);
            own(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    final void own(Path path) throws IOException {
        if (IS_ROOT) {
            Files.setOwner(
                    path, path.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName(user));
        }
    }

    final Path data() {
        return folder.resolve("data");
    }

    /** What the server and its tools have said. */
    final String log() {
        try {
            return Files.readString(folder.resolve("log"));
        } catch (IOException e) {
            return e.toString();
        }
    }

    final Process begin(List<String> command) {
        try {
            return new ProcessBuilder(command)
                    .directory(folder.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(
                            folder.resolve("log").toFile()))
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    final void run(List<String> command) {
        try {
            Process program = begin(command);
            if (!program.waitFor(60, TimeUnit.SECONDS) || program.exitValue() != 0) {
                throw new IllegalStateException(command + " failed: " + log());
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** A connection of an operator, past the adapter. */
    abstract Connection connect() throws SQLException;

    final void execute(String... statements) {
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
    final List<String> query(String select) {
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

    @Override
    public abstract void close();

    static void delete(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
