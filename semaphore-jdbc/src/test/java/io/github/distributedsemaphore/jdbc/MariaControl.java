package io.github.distributedsemaphore.jdbc;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import java.net.InetSocketAddress;
import java.util.List;

/** A MariaDB of the kit's own, without replicas. */
final class MariaControl implements ServerControl {
    private final MariaServer server = new MariaServer();
    private final UriAccess access;

    MariaControl(String settings) {
        access = new UriAccess(server.uri("app", "app", settings));
    }

    @Override
    public InetSocketAddress address() {
        return access.address();
    }

    @Override
    public SemaphoreClient connect(ClientSpec spec, InetSocketAddress through) {
        return access.connect(spec, through);
    }

    @Override
    public boolean isRunning() {
        return server.process.isRunning();
    }

    @Override
    public void start() {
        server.start();
    }

    @Override
    public void stop() {
        server.process.stop();
    }

    @Override
    public void kill() {
        server.process.kill();
    }

    @Override
    public void wipe() {
        server.wipe();
    }

    @Override
    public String incarnation() {
        return Long.toString(server.process.process().pid());
    }

    @Override
    public List<Long> processes() {
        return server.process.processes();
    }

    @Override
    public List<String> errors() {
        return List.of("rights taken away", "read only");
    }

    /** Rights on a database hold for new connections. */
    @Override
    public void beginErrors(String kind) {
        if (kind.equals("read only")) {
            server.execute("SET GLOBAL read_only = ON");
        } else {
            server.execute("REVOKE ALL ON app.* FROM app", "KILL USER app");
        }
    }

    @Override
    public void endErrors(String kind) {
        server.execute("SET GLOBAL read_only = OFF", "GRANT ALL ON app.* TO app", "KILL USER app");
    }

    @Override
    public void close() {
        server.close();
    }
}
