package io.github.distributedsemaphore.benchmarks.scale;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.internal.Environment;
import io.github.distributedsemaphore.redis.RedisBackendProvider;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.SessionListener;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Makes clients. A client of Redis has seven threads, so a process carries some 2,000. Where clients share, so many of them have one
 * set of Netty's threads, and one connection each for messages, renewals and administration; and all share the threads of the
 * engines. Each still has an engine, a name in the queue and a connection for its exchanges by itself: the server sees as many
 * waiting clients. For one thread.
 */
final class ScaleClients implements AutoCloseable {
    private final String uri;
    private final int share;
    private final List<SemaphoreBackend> shared = new ArrayList<>();
    private final SharedThreads threads = new SharedThreads();
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
        return SemaphoreClient.builder(new Shared(shared.get(shared.size() - 1), threads))
                .connect();
    }

    /** All at once, as if their processes had died. */
    void die(List<SemaphoreClient> clients) {
        if (share == 1) {
            clients.parallelStream().forEach(SemaphoreClient::abort);
        }
        close();
    }

    @Override
    public void close() {
        threads.end();
        shared.parallelStream().forEach(SemaphoreBackend::close);
    }

    /** What one client sees of it: it cannot close it. */
    private record Shared(SemaphoreBackend backend, SharedThreads environment)
            implements SemaphoreBackend, Environment.Source {
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

    /** Threads of all engines: as many as block at the same moment, and one that keeps time. */
    private static final class SharedThreads implements Environment {
        private final ThreadPoolExecutor workers =
                new ThreadPoolExecutor(0, Integer.MAX_VALUE, 1, TimeUnit.MINUTES, new SynchronousQueue<>());
        private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1);

        SharedThreads() {
            timer.setRemoveOnCancelPolicy(true);
            // What comes after the end is nobody's any more.
            timer.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
            workers.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
        }

        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        @Override
        public void execute(Runnable task) {
            workers.execute(task);
        }

        @Override
        public Timer schedule(Runnable task, long delayNanos) {
            Future<?> future = timer.schedule(() -> workers.execute(task), delayNanos, TimeUnit.NANOSECONDS);
            return () -> future.cancel(false);
        }

        @Override
        public void park(Object blocker, long nanos) {
            LockSupport.parkNanos(blocker, nanos);
        }

        @Override
        public void unpark(Thread thread) {
            LockSupport.unpark(thread);
        }

        @Override
        public long random(long bound) {
            return ThreadLocalRandom.current().nextLong(bound);
        }

        /** The end of one client is not theirs. */
        @Override
        public void close() {}

        void end() {
            timer.shutdownNow();
            workers.shutdownNow();
        }
    }
}
