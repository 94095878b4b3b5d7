package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.harness.Accounts;
import io.github.distributedsemaphore.tck.harness.HookMissingException;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.ServerAccess;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.harness.UriAccounts;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** How the kit reaches a real server. */
class PostgresHarness extends UriHarness implements StateProbe {
    /** Short, since rules that kill a holder wait for it. */
    static final String SETTINGS = "?detection=5s&timeout=3s";

    /** Several tests of one JVM share the server, so its roles are made once. */
    private static @Nullable Accounts accounts;

    private final PostgresServer server;

    PostgresHarness() {
        this(PostgresServer.shared());
    }

    private PostgresHarness(PostgresServer server) {
        super(server.uri(SETTINGS));
        this.server = server;
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
        return Optional.of(this);
    }

    @Override
    public Leftovers leftovers() {
        Map<String, Long> sizes = new HashMap<>();
        for (String row : server.query("SELECT length(state) || ' ' || name FROM semaphores")) {
            sizes.put(row.substring(row.indexOf(' ') + 1), Long.parseLong(row.substring(0, row.indexOf(' '))));
        }
        return Leftovers.of(sizes);
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

    private String where(String name) {
        return " WHERE name = '" + JdbcStore.stored(name).replace("'", "''") + "'";
    }

    private String stored(String name) {
        List<String> found = server.query("SELECT state FROM semaphores" + where(name));
        if (found.isEmpty()) {
            throw new IllegalStateException("nothing is stored for " + name);
        }
        return found.get(0);
    }

    private void store(String name, String state) {
        server.execute(
                "UPDATE semaphores SET version = (random() * 1e15)::bigint, state = '" + state + "'" + where(name));
    }

    private void change(String name, UnaryOperator<String> change) {
        String before = stored(name);
        String after = change.apply(before);
        if (after.equals(before)) {
            throw new IllegalStateException("nothing changed in " + before);
        }
        store(name, after);
    }

    @Override
    public void wipe(String name) {
        server.execute("DELETE FROM semaphores" + where(name));
    }

    @Override
    public void removeHolder(String name, int slot) {
        change(name, state -> state.replaceFirst("\nhold " + slot + " [^\n]*", ""));
    }

    @Override
    public List<String> corruptions() {
        return List.of(
                "garbage",
                "empty",
                "newer format",
                "no limit",
                "negative limit",
                "half a holder",
                "unknown line",
                "two holders");
    }

    @Override
    public void corrupt(String name, String kind) {
        String holder = "\nhold 1 5 6 abc 9999999999999 1 1 h l";
        change(name, state -> switch (kind) {
            case "garbage" -> "garbage";
            case "empty" -> "";
            case "newer format" -> state.replace("semaphore/1", "semaphore/2");
            case "no limit" -> "semaphore/1 x 1";
            case "negative limit" -> "semaphore/1 -3 1";
            case "half a holder" -> state + "\nhold 1";
            case "unknown line" -> state + "\nsleep abc 9999999999999 1";
            default -> state + holder + holder;
        });
    }

    @Override
    public void plantEpoch(String name, long epoch) {
        throw new HookMissingException(
                "StateProbe.plantEpoch: epochs follow the server's clock, which nobody can set here");
    }

    @Override
    public void plantSlots(String name, int more) {
        change(name, state -> {
            int limit = Integer.parseInt(state.split("[ \n]")[1]);
            StringBuilder text = new StringBuilder(state);
            for (int slot = limit + 1; slot <= limit + more; slot++) {
                text.append("\nhold ").append(slot).append(" 1 1 planted 1 1 1 host label");
            }
            return text.toString();
        });
    }

    @Override
    public void occupy(String name) {
        server.execute(
                Dialect.POSTGRESQL.schema("semaphores"),
                "INSERT INTO semaphores VALUES ('" + JdbcStore.stored(name).replace("'", "''")
                        + "', 7, 'something foreign')");
    }

    @Override
    public String occupant(String name) {
        return stored(name);
    }

    @Override
    public void remove(String name) {
        wipe(name);
    }
}
