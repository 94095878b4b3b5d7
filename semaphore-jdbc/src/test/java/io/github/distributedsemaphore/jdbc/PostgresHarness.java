package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.harness.Accounts;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.ServerAccess;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.harness.UriAccounts;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** How the kit reaches a real server. */
class PostgresHarness extends UriHarness {
    /** Short, since rules that kill a holder wait for it. */
    static final String SETTINGS = "?detection=5s&timeout=3s";

    /** Several tests of one JVM share the server, so its roles are made once. */
    private static @Nullable Accounts accounts;

    private final PostgresServer server;
    private final TableProbe probe;

    PostgresHarness() {
        this(PostgresServer.shared());
    }

    private PostgresHarness(PostgresServer server) {
        super(server.uri(SETTINGS));
        this.server = server;
        this.probe = new TableProbe(server, Dialect.POSTGRESQL, "semaphores");
    }

    @Override
    public String backendVersion() {
        return "PostgreSQL " + server.query("SHOW server_version").get(0);
    }

    @Override
    public Optional<ServerAccess> link() {
        return Optional.of(new UriAccess(uri()));
    }

    @Override
    public Optional<ServerControl> startServer() {
        return Optional.of(new PostgresControl(SETTINGS));
    }

    /** Roles with what the documentation asks for: four rights on the table; one of them; and a wrong password. */
    @Override
    public Optional<Accounts> accounts() {
        return Optional.of(accountsOf(server));
    }

    private static synchronized Accounts accountsOf(PostgresServer server) {
        if (accounts == null) {
            server.execute(
                    Dialect.POSTGRESQL.schema("semaphores"),
                    "CREATE ROLE worker LOGIN PASSWORD 'worker-77c1-password'",
                    "CREATE ROLE looker LOGIN PASSWORD 'looker-0b9e-password'",
                    "GRANT SELECT, INSERT, UPDATE, DELETE ON semaphores TO worker",
                    "GRANT SELECT ON semaphores TO looker");
            accounts = new UriAccounts(
                    server.uri("worker", "worker-77c1-password", SETTINGS),
                    server.uri("worker", "wrong-41af-password", SETTINGS),
                    server.uri("looker", "looker-0b9e-password", SETTINGS),
                    List.of("worker-77c1-password", "wrong-41af-password", "looker-0b9e-password"));
        }
        return accounts;
    }

    @Override
    public Optional<StateProbe> state() {
        return Optional.of(probe);
    }

    @Override
    public Leftovers leftovers() {
        return probe.leftovers();
    }

    @Override
    public boolean mayStay(Thread thread) {
        return isShared(thread);
    }

    /** The JDK's own timer, and the pool that sweeps what a destroyed semaphore leaves; and threads of drivers. */
    static boolean isShared(Thread thread) {
        return thread.getName().startsWith("CompletableFutureDelayScheduler")
                || thread.getName().startsWith("ForkJoinPool.commonPool")
                || thread.getName().startsWith("PostgreSQL-JDBC");
    }
}
