package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.harness.ProcessServer;
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
import java.util.List;

/**
 * A database server of the tests' own, with its data in a temporary folder, on a free port of the loopback. Where the tests run as
 * root it runs as the user that its package makes.
 */
abstract class DatabaseServer implements AutoCloseable {
    static final boolean IS_ROOT = "root".equals(System.getProperty("user.name"));

    final ProcessServer process;
    final int port = FreePorts.choose(1).get(0);
    private final String user;

    DatabaseServer(String product, String user) {
        this.user = user;
        this.process = new ProcessServer(product);
        try {
            own(process.folder());
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
    public void close() {
        process.close();
    }
}
