package io.github.distributedsemaphore.benchmarks.servers;

import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.github.distributedsemaphore.benchmarks.contestants.PostgresContestant;
import io.github.distributedsemaphore.tck.harness.ProcessServer;
import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A PostgreSQL of our own with its defaults, which write each commit to the disk, on a free port of the loopback address. It refuses to run as
 * root: then it runs as {@code postgres}.
 */
public final class PostgresProcess implements MeasuredServer {
    private static final Path DEBIAN = Path.of("/usr/lib/postgresql");
    private static final boolean IS_ROOT = "root".equals(System.getProperty("user.name"));

    /** What the server counts. */
    public enum Counted {
        /**
         * Transactions that write, by the ids that it has given out: exact at once. A transaction that only reads has none.
         */
        WRITES("SELECT pg_snapshot_xmax(pg_current_snapshot())"),
        /**
         * Commits, also of what only reads. A connection tells of them at most once a second, and only after it has used a
         * table: for measurements of many seconds.
         */
        COMMITS("SELECT sum(xact_commit) FROM pg_stat_database");

        private final String query;

        Counted(String query) {
            this.query = query;
        }
    }

    private final int port = FreePorts.choose(1).get(0);
    private final ProcessServer process;
    private final List<String> command;
    private final Counted counted;
    private Connection connection;

    public PostgresProcess(Path folder, int mostConnections, Counted counted) {
        this.counted = counted;
        process = new ProcessServer("PostgreSQL", folder.resolve("postgresql-" + port));
        String data = process.data().toString();
        try {
            if (IS_ROOT) {
                own(folder);
            }
            process.run(command("initdb", "-D", data, "-U", "bench", "-A", "trust", "-E", "UTF8"), "");
            command = command("postgres", "-D", data, "-p", Integer.toString(port), "-h", "127.0.0.1");
            command.addAll(List.of("-k", "", "-c", "max_connections=" + mostConnections));
            connection = start();
        } catch (IOException | UncheckedIOException | SQLException e) {
            throw new BrokenRunException("no PostgreSQL server; install it (Debian: apt-get install postgresql)", e);
        }
    }

    private Connection start() throws SQLException {
        MeasuredServer.start(process, command, this::serves, "Debian: apt-get install postgresql");
        return PostgresContestant.connect(uri());
    }

    @Override
    public void restart() {
        // Upon the usual signal it waits until its clients have left.
        process.stop("INT");
        try {
            connection = start();
        } catch (SQLException e) {
            throw new BrokenRunException("PostgreSQL does not take connections after a restart", e);
        }
    }

    /** So that another user gets through to the folder that is its own. */
    private void own(Path above) throws IOException {
        Files.setPosixFilePermissions(above, PosixFilePermissions.fromString("rwx--x--x"));
        Path home = process.folder();
        Files.setOwner(
                home, home.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("postgres"));
    }

    private static List<String> command(String program, String... words) throws IOException {
        List<String> command = new ArrayList<>();
        if (IS_ROOT) {
            command.addAll(List.of("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"));
        }
        command.add(inDebian(program));
        command.addAll(List.of(words));
        return command;
    }

    private boolean serves() {
        try (Connection probe = PostgresContestant.connect(uri())) {
            return probe.isValid(1);
        } catch (SQLException e) {
            return false;
        }
    }

    private static String inDebian(String program) throws IOException {
        if (!Files.exists(DEBIAN)) {
            return program;
        }
        try (Stream<Path> versions = Files.list(DEBIAN)) {
            return versions.map(
                            version -> version.resolve("bin").resolve(program).toString())
                    .max(Comparator.naturalOrder())
                    .orElse(program);
        }
    }

    @Override
    public String uri() {
        return "postgresql://bench@127.0.0.1:" + port + "/postgres";
    }

    private String ask(String query) {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getString(1);
        } catch (SQLException e) {
            throw new BrokenRunException("PostgreSQL does not answer", e);
        }
    }

    /** What is counted, and the processor time of all its processes that are there. */
    @Override
    public ServerUse use() {
        return new ServerUse(Long.parseLong(ask(counted.query)), MeasuredServer.processorMicros(process));
    }

    @Override
    public String version() {
        return "PostgreSQL " + ask("SHOW server_version");
    }

    @Override
    public void close() {
        process.close();
    }
}
