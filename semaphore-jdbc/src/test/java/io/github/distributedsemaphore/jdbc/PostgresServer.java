package io.github.distributedsemaphore.jdbc;

import static org.awaitility.Awaitility.await;

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

/** A PostgreSQL server of the tests' own, made by {@code initdb}. PostgreSQL refuses to run as root. */
final class PostgresServer extends DatabaseServer {
    static final String USER = "operator";
    static final String PASSWORD = "operator-5d21-password";
    static final String DATABASE = "app";

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Path DEBIAN = Path.of("/usr/lib/postgresql");

    private volatile @Nullable Process process;

    private PostgresServer() {
        super("postgresql", "postgres");
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
        PostgresServer server = new PostgresServer();
        server.initialize();
        server.start();
        return server;
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
            own(file);
            return file;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Makes an empty cluster with one database. */
    void initialize() {
        try {
            Path password = install("password", PASSWORD);
            run(command(
                    "initdb",
                    "-D",
                    data().toString(),
                    "-U",
                    USER,
                    "--pwfile=" + password,
                    "-A",
                    "scram-sha-256",
                    "-E",
                    "UTF8"));
            Files.delete(password);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Makes this one a copy of another one that follows it. */
    static PostgresServer replicaOf(PostgresServer primary) {
        PostgresServer replica = new PostgresServer();
        replica.run(command(
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
                        + " application_name=replica"));
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

    void start() {
        process = begin(command(
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
                "shared_buffers=32MB"));
        await("PostgreSQL serves")
                .atMost(PATIENCE)
                .pollInterval(Duration.ofMillis(20))
                .until(this::serves);
    }

    private boolean serves() {
        if (!isRunning()) {
            throw new IllegalStateException("PostgreSQL ended: " + log());
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
        run(command("pg_ctl", "promote", "-w", "-D", data().toString()));
    }

    /** A connection of an operator, past the adapter. */
    Connection connect(String database) throws SQLException {
        return DriverManager.getConnection(
                "jdbc:postgresql://127.0.0.1:" + port + "/" + database + "?connectTimeout=5&socketTimeout=20",
                USER,
                PASSWORD);
    }

    @Override
    Connection connect() throws SQLException {
        return connect(DATABASE);
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
}
