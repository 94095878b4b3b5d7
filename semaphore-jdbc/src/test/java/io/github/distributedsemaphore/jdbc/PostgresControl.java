package io.github.distributedsemaphore.jdbc;

import static org.awaitility.Awaitility.await;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A server of the kit's own with its data on disk, and another one that follows it. */
final class PostgresControl implements ServerControl {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final String settings;
    private PostgresServer server = PostgresServer.started();

    PostgresControl(String settings) {
        this.settings = settings;
        prepare();
    }

    /** The user of the tests is no operator, so that its rights can be taken away. */
    private void prepare() {
        server.execute(
                "DROP ROLE IF EXISTS app",
                "CREATE ROLE app LOGIN PASSWORD 'app'",
                "GRANT ALL ON SCHEMA public TO app",
                Dialect.POSTGRESQL.schema("semaphores"),
                "GRANT ALL ON semaphores TO app");
    }

    private synchronized UriAccess access() {
        return new UriAccess(server.uri("app", "app", settings));
    }

    @Override
    public InetSocketAddress address() {
        return access().address();
    }

    @Override
    public SemaphoreClient connect(ClientSpec spec, InetSocketAddress through) {
        return access().connect(spec, through);
    }

    @Override
    public synchronized boolean isRunning() {
        return server.process.isRunning();
    }

    @Override
    public synchronized void start() {
        server.start();
        if (server.query("SELECT rolname FROM pg_roles WHERE rolname = 'app'").isEmpty()) {
            // Without the table: old clients have to make it again.
            server.execute("CREATE ROLE app LOGIN PASSWORD 'app'", "GRANT ALL ON SCHEMA public TO app");
        }
    }

    @Override
    public synchronized void stop() {
        server.stop();
    }

    @Override
    public synchronized void kill() {
        server.process.kill();
    }

    @Override
    public synchronized void wipe() {
        server.wipe();
    }

    @Override
    public synchronized String incarnation() {
        return Long.toString(server.process.process().pid());
    }

    @Override
    public synchronized List<Long> processes() {
        return server.process.processes();
    }

    @Override
    public List<String> errors() {
        return List.of("rights taken away", "read only", "no connection left");
    }

    @Override
    public synchronized void beginErrors(String kind) {
        switch (kind) {
            case "rights taken away" ->
                server.execute(
                        "ALTER TABLE semaphores OWNER TO " + PostgresServer.USER, "REVOKE ALL ON semaphores FROM app");
            case "read only" -> server.execute("ALTER ROLE app SET default_transaction_read_only = on", endOthers());
            default -> server.execute("ALTER ROLE app CONNECTION LIMIT 0", endOthers());
        }
    }

    /** A role's settings hold for new connections. */
    private static String endOthers() {
        return "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'";
    }

    @Override
    public synchronized void endErrors(String kind) {
        server.execute(
                "ALTER ROLE app RESET ALL",
                "ALTER ROLE app CONNECTION LIMIT -1",
                "GRANT ALL ON semaphores TO app",
                endOthers());
    }

    @Override
    public synchronized Optional<Replica> replica() {
        return Optional.of(new Follower(PostgresServer.replicaOf(server)));
    }

    @Override
    public synchronized void close() {
        server.close();
    }

    /** A standby that streams, asynchronously. */
    private final class Follower implements Replica {
        private final PostgresServer standby;
        private boolean promoted;

        Follower(PostgresServer standby) {
            this.standby = standby;
        }

        @Override
        public void awaitCaughtUp() {
            String sent = server.query("SELECT pg_current_wal_lsn()").get(0);
            await("the replica has all")
                    .atMost(PATIENCE)
                    .until(() -> standby.query("SELECT pg_last_wal_replay_lsn() >= '" + sent + "'::pg_lsn")
                            .equals(List.of("t")));
        }

        @Override
        public void detach() {
            standby.execute("ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()");
            await("the replica follows nobody")
                    .atMost(PATIENCE)
                    .until(() -> standby.query("SELECT pid FROM pg_stat_wal_receiver")
                            .isEmpty());
        }

        @Override
        public void promote() {
            synchronized (PostgresControl.this) {
                server.process.kill();
                server.close();
                standby.promote();
                server = standby;
                promoted = true;
            }
        }

        @Override
        public void close() {
            if (!promoted) {
                standby.close();
            }
        }
    }
}
