package io.github.distributedsemaphore.jdbc;

import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
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
import org.jspecify.annotations.Nullable;

/**
 * A PostgreSQL server of the tests' own, made by {@code initdb} in a temporary folder, on a free port of the loopback. PostgreSQL
 * refuses to run as root: then it runs as {@code postgres}, the user that its package makes.
 */
final class PostgresServer implements AutoCloseable {
    static final String USER = "operator";
    static final String PASSWORD = "operator-5d21-password";
    static final String DATABASE = "app";

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Path DEBIAN = Path.of("/usr/lib/postgresql");
    private static final boolean IS_ROOT = "root".equals(System.getProperty("user.name"));

    private final Path folder;
    private final int port;
    private volatile @Nullable Process process;

    private PostgresServer(Path folder, int port) {
        this.folder = folder;
        this.port = port;
    }

    /** Started when it is wanted first; ends with the JVM. */
    private static final class Shared {
        static final PostgresServer SERVER = startShared();

        private static PostgresServer startShared() {
            PostgresServer server = started();
            Runtime.getRuntime().addShutdownHook(new Thread(server::close));
            return server;
        }
    }

    static PostgresServer shared() {
        return Shared.SERVER;
    }

    /** Starts a new one. */
    static PostgresServer started() {
        PostgresServer server =
                new PostgresServer(temporaryFolder(), FreePorts.choose(1).get(0));
        server.initialize();
        server.start();
        return server;
    }

    private static Path temporaryFolder() {
        try {
            Path folder = Files.createTempDirectory("semaphore-postgresql");
            if (IS_ROOT) {
                own(folder);
            }
            return folder;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void own(Path path) throws IOException {
        Files.setOwner(
                path, path.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("postgres"));
    }

    private Path data() {
        return folder.resolve("data");
    }

    int port() {
        return port;
    }

    /** Puts a file beside the data, which only the server's user can read; returns where it is. */
    Path install(String name, String content) {
        try {
            Path file = Files.createFile(
                    folder.resolve(name),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            Files.writeString(file, content);
            if (IS_ROOT) {
                own(file);
            }
            return file;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Makes an empty cluster with one database. */
    void initialize() {
        try {
            Path password = install("password", PASSWORD);
            run(
                    "initdb",
                    "-D",
                    data().toString(),
                    "-U",
                    USER,
                    "--pwfile=" + password,
                    "-A",
                    "scram-sha-256",
                    "-E",
                    "UTF8");
            Files.delete(password);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Makes this one a copy of another one that follows it. */
    static PostgresServer replicaOf(PostgresServer primary) {
        PostgresServer replica =
                new PostgresServer(temporaryFolder(), FreePorts.choose(1).get(0));
        replica.run(
                "pg_basebackup",
                "-D",
                replica.data().toString(),
                "-R",
                "-X",
                "stream",
                "-c",
                "fast",
                "-d",
                "host=127.0.0.1 port=" + primary.port + " user=" + USER + " password=" + PASSWORD
                        + " application_name=replica");
        replica.start();
        return replica;
    }

    /** Debian keeps the programs of the server off the PATH, a folder for each version. */
    private static String inDebian(String program) {
        if (!Files.exists(DEBIAN)) {
            return program;
        }
        try (Stream<Path> versions = Files.list(DEBIAN)) {
            return versions.map(version -> version.resolve("bin").resolve(program))
                    .filter(Files::exists)
                    .max(Comparator.comparing(Path::toString))
                    .map(Path::toString)
                    .orElse(program);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A command line of the user that the server runs as. */
    static List<String> command(String program, String... words) {
        List<String> command = new ArrayList<>();
        if (IS_ROOT) {
            command.addAll(List.of("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"));
        }
        command.add(inDebian(program));
        command.addAll(List.of(words));
        return command;
    }

    private void run(String... words) {
        try {
            String[] rest = List.of(words).subList(1, words.length).toArray(String[]::new);
            Process program = new ProcessBuilder(command(words[0], rest))
                    .directory(folder.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(log())
                    .start();
            if (!program.waitFor(60, TimeUnit.SECONDS) || program.exitValue() != 0) {
                throw new IllegalStateException(
                        words[0] + " failed: " + Files.readString(log().file().toPath()));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
        }
    }

    private ProcessBuilder.Redirect log() {
        return ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile());
    }

    void start() {
        try {
            process = new ProcessBuilder(command(
                            "postgres",
                            "-D",
                            data().toString(),
                            "-p",
                            Integer.toString(port),
                            "-h",
                            "127.0.0.1",
                            "-k",
                            "",
                            "-c",
                            "max_connections=300",
                            // Its workers come and go, while the kit stops all processes of the server.
                            "-c",
                            "autovacuum=off",
                            "-c",
                            "shared_buffers=32MB"))
                    .directory(folder.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(log())
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        await("PostgreSQL serves")
                .atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(20))
                .until(this::serves);
    }

    private boolean serves() {
        if (!isRunning()) {
            throw new IllegalStateException("PostgreSQL ended: " + text(folder.resolve("log")));
        }
        try (Connection connection = connect("postgres");
                Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery("SELECT pg_is_in_recovery(), EXISTS (SELECT FROM pg_database"
                        + " WHERE datname = '" + DATABASE + "')")) {
            found.next();
            if (!found.getBoolean(1) && !found.getBoolean(2)) {
                statement.execute("CREATE DATABASE " + DATABASE);
            }
            return true;
        } catch (SQLException e) {
            return false;
        }
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return e.toString();
        }
    }

    boolean isRunning() {
        return process != null && process.isAlive();
    }

    long pid() {
        return process.pid();
    }

    /** The server and all of its own processes. */
    List<Long> processes() {
        return Stream.concat(Stream.of(process.toHandle()), process.descendants())
                .map(ProcessHandle::pid)
                .toList();
    }

    /** Ends it at once but in order: what PostgreSQL calls a fast shutdown. */
    void stop() {
        signal("INT");
        awaitEnd();
    }

    /** With SIGKILL, and its own processes with it: those would go on for a while. */
    void kill() {
        List<ProcessHandle> all = Stream.concat(process.descendants(), Stream.of(process.toHandle()))
                .toList();
        all.forEach(ProcessHandle::destroyForcibly);
        awaitEnd();
        await("all of PostgreSQL has ended")
                .atMost(PATIENCE)
                .until(() -> all.stream().noneMatch(ProcessHandle::isAlive));
    }

    private void signal(String name) {
        try {
            int status = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                    .inheritIO()
                    .start()
                    .waitFor();
            if (status != 0) {
                throw new IllegalStateException("kill -" + name + " ended with " + status);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
        }
    }

    private void awaitEnd() {
        try {
            if (!process.waitFor(30, TimeUnit.SECONDS)) {
                throw new IllegalStateException("PostgreSQL does not end");
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** Removes all data of the stopped server. */
    void wipe() {
        delete(data());
        initialize();
    }

    void promote() {
        run("pg_ctl", "promote", "-w", "-D", data().toString());
    }

    /** A connection of an operator, past the adapter. */
    Connection connect(String database) throws SQLException {
        return DriverManager.getConnection(
                "jdbc:postgresql://127.0.0.1:" + port + "/" + database + "?connectTimeout=5&socketTimeout=20",
                USER,
                PASSWORD);
    }

    void execute(String... statements) {
        try (Connection connection = connect(DATABASE);
                Statement statement = connection.createStatement()) {
            for (String one : statements) {
                statement.execute(one);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The first column of all rows. */
    List<String> query(String select) {
        List<String> found = new ArrayList<>();
        try (Connection connection = connect(DATABASE);
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

    String uri(String user, String password, String settings) {
        return "postgresql://" + user + ":" + password + "@127.0.0.1:" + port + "/" + DATABASE + settings;
    }

    String uri(String settings) {
        return uri(USER, PASSWORD, settings);
    }

    @Override
    public void close() {
        if (isRunning()) {
            kill();
        }
        delete(folder);
    }

    private static void delete(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
