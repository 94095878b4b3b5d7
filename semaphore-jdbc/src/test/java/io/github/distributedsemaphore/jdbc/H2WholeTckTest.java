package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import java.sql.SQLException;
import java.util.Map;
import java.util.UUID;
import org.h2.tools.Server;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The whole kit on H2, of which this process is the server, so that other processes can connect: -Dkit.h2=true -Dtest=H2WholeTckTest. */
@EnabledIfSystemProperty(named = "kit.h2", matches = "true")
class H2WholeTckTest extends SemaphoreTck {
    /** Started when it is wanted first; the kit looks what is left after all tests, so it ends with the JVM. */
    private static final class Shared {
        static final int PORT = start();

        private static int start() {
            try {
                return Server.createTcpServer("-tcpPort", "0", "-ifNotExists", "-tcpDaemon")
                        .start()
                        .getPort();
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    @Override
    public SemaphoreTckHarness harness() {
        return new Harness(Shared.PORT);
    }

    private static final class Harness extends UriHarness {
        Harness(int port) {
            super("jdbc:h2:tcp://127.0.0.1:" + port + "/mem:" + UUID.randomUUID()
                    + ";DB_CLOSE_DELAY=-1?detection=3s&timeout=1500ms&poll=20ms");
        }

        @Override
        public boolean mayStay(Thread thread) {
            return PostgresHarness.isShared(thread)
                    || thread.getName().startsWith("MVStore")
                    || thread.getName().startsWith("H2 ");
        }

        @Override
        public Map<Integer, String> absent() {
            return Map.of(2, "the link is not put through a proxy", 3, "the server is this process");
        }
    }
}
