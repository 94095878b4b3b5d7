package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.Accounts;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.ServerAccess;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.harness.UriAccounts;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The kit on a real MariaDB, on demand: -Dkit.mariadb=true -Dtest=MariaTckTest. */
@EnabledIfSystemProperty(named = "kit.mariadb", matches = "true")
class MariaTckTest extends SemaphoreTck {
    private static final String SETTINGS = "&detection=5s&timeout=3s&poll=20ms";

    private static MariaServer shared;

    /** Started when it is wanted first. The kit looks what is left after all tests, so it ends with the JVM. */
    private static synchronized MariaServer shared() {
        if (shared == null) {
            MariaServer server = new MariaServer();
            server.execute(
                    Dialect.MARIADB.schema("app.semaphores"),
                    "CREATE USER worker IDENTIFIED BY 'worker-77c1-password'",
                    "CREATE USER looker IDENTIFIED BY 'looker-0b9e-password'",
                    "GRANT SELECT, INSERT, UPDATE, DELETE ON app.semaphores TO worker",
                    "GRANT SELECT ON app.semaphores TO looker");
            shared = server;
        }
        return shared;
    }

    @Override
    public SemaphoreTckHarness harness() {
        return new Harness(shared());
    }

    private static final class Harness extends UriHarness {
        private final MariaServer server;
        private final TableProbe probe;

        Harness(MariaServer server) {
            super(server.uri("app", "app", SETTINGS));
            this.server = server;
            this.probe = new TableProbe(server, Dialect.MARIADB, "app.semaphores");
        }

        @Override
        public String backendVersion() {
            return "MariaDB " + server.query("SELECT version()").get(0);
        }

        @Override
        public Optional<ServerAccess> link() {
            return Optional.of(new UriAccess(uri()));
        }

        @Override
        public Optional<ServerControl> startServer() {
            return Optional.of(new MariaControl(SETTINGS));
        }

        @Override
        public Optional<StateProbe> state() {
            return Optional.of(probe);
        }

        @Override
        public Optional<Accounts> accounts() {
            return Optional.of(new UriAccounts(
                    server.uri("worker", "worker-77c1-password", SETTINGS),
                    server.uri("worker", "wrong-41af-password", SETTINGS),
                    server.uri("looker", "looker-0b9e-password", SETTINGS),
                    List.of("worker-77c1-password", "wrong-41af-password", "looker-0b9e-password")));
        }

        @Override
        public Leftovers leftovers() {
            return probe.leftovers();
        }

        @Override
        public boolean mayStay(Thread thread) {
            return PostgresHarness.isShared(thread) || thread.getName().startsWith("MariaDb");
        }
    }
}
