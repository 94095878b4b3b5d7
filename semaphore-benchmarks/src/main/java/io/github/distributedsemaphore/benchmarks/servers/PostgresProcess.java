package io.github.distributedsemaphore.benchmarks.servers;

import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.github.distributedsemaphore.benchmarks.contestants.PostgresContestant;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * A PostgreSQL of our own with its defaults, which write each commit to the disk, on a free port of the loopback address. It refuses to run as
 * root: then it runs as {@code postgres}.
 */
public final class PostgresProcess implements MeasuredServer {
    private static final Duration START = Duration.ofSeconds(60);
    private static final Path DEBIAN = Path.of("/usr/lib/postgresql");
    private static final boolean IS_ROOT = "root".equals(System.getProperty("user.name"));

    private final int port = freePort();
    private final Path home;
    private final Path log;
    private final Process process;
    private final Connection connection;

    public PostgresProcess(Path folder, int mostConnections) {
        home = folder.resolve("postgresql-" + port);
        Path data = home.resolve("data");
        log = home.resolve("log");
        try {
            Files.createDirectory(home);
            if (IS_ROOT) {
                // So that another user gets through to the folder that is its own.
                Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx--x--x"));
                Files.setOwner(
                        home,
                        home.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("postgres"));
            }
            Process initdb = start("initdb", "-D", data.toString(), "-U", "bench", "-A", "trust", "-E", "UTF8");
            initdb.onExit().join();
            process = start(
                    "postgres",
                    "-D",
                    data.toString(),
                    "-p",
                    Integer.toString(port),
                    "-h",
                    "127.0.0.1",
                    "-k",
                    "",
                    "-c",
                    "max_connections=" + mostConnections);
        } catch (IOException e) {
            throw new BrokenRunException("no PostgreSQL server; install it (Debian: apt-get install postgresql)", e);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        connection = connect();
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Process start(String program, String... words) throws IOException {
        List<String> command = new ArrayList<>();
        if (IS_ROOT) {
            command.addAll(List.of("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"));
        }
        command.add(inDebian(program));
        command.addAll(List.of(words));
        return new ProcessBuilder(command)
                .directory(home.toFile())
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                .start();
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

    private Connection connect() {
        long end = System.nanoTime() + START.toNanos();
        while (true) {
            try {
                return PostgresContestant.connect(uri());
            } catch (SQLException e) {
                if (!process.isAlive() || System.nanoTime() - end > 0) {
                    process.destroyForcibly();
                    throw new BrokenRunException("PostgreSQL did not start, see " + log, e);
                }
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
            }
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

    /** Commits, of which PostgreSQL tells with a delay of a second; and the processor time of all its processes that are there. */
    @Override
    public ServerUse use() {
        double nanos = Stream.concat(Stream.of(process.toHandle()), process.descendants())
                .mapToLong(one ->
                        one.info().totalCpuDuration().orElse(Duration.ZERO).toNanos())
                .sum();
        return new ServerUse(Long.parseLong(ask("SELECT sum(xact_commit) FROM pg_stat_database")), nanos / 1e3);
    }

    @Override
    public String version() {
        return "PostgreSQL " + ask("SHOW server_version");
    }

    @Override
    public void close() {
        List<ProcessHandle> all = Stream.concat(process.descendants(), Stream.of(process.toHandle()))
                .toList();
        all.forEach(ProcessHandle::destroyForcibly);
        process.onExit().join();
    }
}
