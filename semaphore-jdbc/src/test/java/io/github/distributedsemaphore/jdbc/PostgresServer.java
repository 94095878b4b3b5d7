package io.github.distributedsemaphore.jdbc;

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
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A PostgreSQL server of the tests' own, made by {@code initdb}. PostgreSQL refuses to run as root. */
final class PostgresServer extends DatabaseServer {
    static final String USER = "operator";
    static final String PASSWORD = "operator-5d21-password";
    static final String DATABASE = "app";

    private static final Path DEBIAN = Path.of("/usr/lib/postgresql");

    private static PostgresServer shared;

    private PostgresServer() {
        super("PostgreSQL", "postgres");
    }

    /** Started when it is wanted first, and tried again by the next test if that failed; ends with the JVM. */
    static synchronized PostgresServer shared() {
        if (shared == null) {
            shared = started();
        }
        return shared;
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
                    process.folder().resolve(name),
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
            List<String> command = command(
                    "initdb",
                    "-D",
                    process.data().toString(),
                    "-U",
                    USER,
                    "--pwfile=" + password,
                    "-A",
                    "scram-sha-256",
                    "-E",
                    "UTF8");
            process.run(command, "");
            Files.delete(password);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Makes this one a copy of another one that follows it. */
    static PostgresServer replicaOf(PostgresServer primary) {
        PostgresServer replica = new PostgresServer();
        List<String> command = command(
                "pg_basebackup",
                "-D",
                replica.process.data().toString(),
                "-R",
                "-X",
                "stream",
                "-c",
                "fast",
                "-d",
                "host=127.0.0.1 port=" + primary.port + " user=" + USER + " password=" + PASSWORD
                        + " application_name=replica");
        replica.process.run(command, "");
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
        List<String> command = command(
                "postgres",
                "-D",
                process.data().toString(),
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
                // Tests kill the server and not the machine, so what it wrote stays. A disk that others keep busy would
                // be waited for.
                "-c",
                "fsync=off",
                "-c",
                "shared_buffers=32MB");
        process.start(command, this::serves);
    }

    private boolean serves() {
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

    /** Ends it at once but in order: what PostgreSQL calls a fast shutdown. */
    void stop() {
        process.stop("INT");
    }

    /** Removes all data of the stopped server. */
    void wipe() {
        process.wipe();
        initialize();
    }

    void promote() {
        process.run(command("pg_ctl", "promote", "-w", "-D", process.data().toString()), "");
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
}
