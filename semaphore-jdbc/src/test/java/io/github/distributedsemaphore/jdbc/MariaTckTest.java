package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import java.util.Map;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The kit on a real MariaDB, at level 1, on demand: -Dkit.mariadb=true -Dtest=MariaTckTest. */
@EnabledIfSystemProperty(named = "kit.mariadb", matches = "true")
class MariaTckTest extends SemaphoreTck {
    /** Started when it is wanted first. The kit looks what is left after all tests, so it ends with the JVM. */
    private static final class Shared {
        static final MariaServer SERVER = startShared();

        private static MariaServer startShared() {
            MariaServer server = new MariaServer();
            Runtime.getRuntime().addShutdownHook(new Thread(server::close));
            return server;
        }
    }

    @Override
    public SemaphoreTckHarness harness() {
        return new Harness(Shared.SERVER);
    }

    private static final class Harness extends UriHarness {
        private final MariaServer server;

        Harness(MariaServer server) {
            super(server.uri("&detection=5s&timeout=3s&poll=20ms"));
            this.server = server;
        }

        @Override
        public String backendVersion() {
            return "MariaDB " + server.query("SELECT version()").get(0);
        }

        @Override
        public Leftovers leftovers() {
            return Leftovers.of(server.query("SELECT name FROM app.semaphores"));
        }

        @Override
        public boolean mayStay(Thread thread) {
            return PostgresHarness.isShared(thread) || thread.getName().startsWith("MariaDb");
        }

        @Override
        public Map<Integer, String> absent() {
            return Map.of(2, "its link is not disturbed here", 3, "the server is not stopped here");
        }
    }
}
