package io.github.distributedsemaphore.benchmarks.scale;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.redis.RedisBackendProvider;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes clients. A client of Redis has seven threads, so a process carries some 2,000. Where clients share, so many of them have one
 * set of Netty's threads, and one connection each for messages, renewals and administration. Each still has an engine, a name in the
 * queue and a connection for its exchanges by itself: the server sees as many waiting clients. For one thread.
 */
final class ScaleClients implements AutoCloseable {
    private final String uri;
    private final int share;
    private final List<SemaphoreBackend> shared = new ArrayList<>();
    private int made;

    /**
     * Makes none yet.
     *
     * @param uri of the server, with settings
     * @param share how many share; 1 for none. More than one on Redis only: no other adapter's sessions of one name can stand side by
     *     side in one backend
     */
    ScaleClients(String uri, int share) {
        this.uri = uri;
        this.share = share;
    }

    SemaphoreClient connect() {
        if (share == 1) {
            return SemaphoreClient.connect(uri);
        }
        if (made++ % share == 0) {
            shared.add(new RedisBackendProvider().open(BackendUri.parse(uri), HolderInfo.ofThisProcess("")));
        }
        return SemaphoreClient.builder(new Shared(shared.get(shared.size() - 1)))
                .connect();
    }

    @Override
    public void close() {
        shared.parallelStream().forEach(SemaphoreBackend::close);
    }

    /** What one client sees of it: it cannot close it. */
    private record Shared(SemaphoreBackend backend) implements SemaphoreBackend {
        @Override
        public Guarantees guarantees() {
            return backend.guarantees();
        }

        @Override
        public BackendSession open(String name, SessionListener listener) {
            return backend.open(name, listener);
        }

        @Override
        public BackendAdmin admin() {
            return backend.admin();
        }

        @Override
        public void close() {}
    }
}
