package io.github.distributedsemaphore.consul;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.consul.ConsulHttp.NoReplyException;
import io.github.distributedsemaphore.consul.SessionPool.SlotSession;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.Collection;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes, renews and destroys Consul sessions. Thread-safe. */
final class SessionCalls {
    private static final Logger LOG = LoggerFactory.getLogger(SessionCalls.class);

    private static final long AT_ONCE_NANOS = 1_000_000_000;

    private final ConsulHttp http;
    private final String subject;
    private final String body;

    SessionCalls(ConsulHttp http, String name, String subject, ConsulSettings settings) {
        this.http = http;
        this.subject = subject;
        JsonObject session = new JsonObject();
        session.addProperty("Name", "distributed-semaphore '" + name + "'");
        session.addProperty("TTL", settings.ttl().toMillis() + "ms");
        session.addProperty("Behavior", "delete");
        session.addProperty("LockDelay", "0s");
        if (!settings.node().isEmpty()) {
            session.addProperty("Node", settings.node());
        }
        // No health check: one that fails would end the session before its time, and the holder could not know.
        session.add("Checks", new JsonArray());
        this.body = session.toString();
    }

    /**
     * Makes a session.
     *
     * @param end when to give up
     * @throws BackendUnavailableException if there is no answer; what was made, if anything, lapses
     */
    SlotSession create(Deadline end) {
        long start = System.nanoTime();
        try {
            ConsulHttp.Reply reply = http.put(end, "/v1/session/create", body);
            if (!reply.isOk()) {
                throw reply.refused(subject);
            }
            return new SlotSession(Json.text(Json.parse(reply.body()).getAsJsonObject(), "ID"), start);
        } catch (NoReplyException e) {
            throw e.unavailable(subject);
        } catch (JsonParseException | IllegalStateException | UnsupportedOperationException e) {
            throw new BackendUnavailableException(subject + ": the answer is not Consul's: " + e.getMessage(), e);
        }
    }

    /**
     * Renews a session.
     *
     * @param end when to give up
     * @return false if it has ended
     * @throws BackendUnavailableException if that is not known
     */
    boolean renew(String id, Deadline end) {
        try {
            ConsulHttp.Reply reply = http.put(end, "/v1/session/renew/" + id, "");
            if (!reply.isOk() && reply.status() != 404) {
                throw reply.refused(subject);
            }
            return reply.isOk();
        } catch (NoReplyException e) {
            throw e.unavailable(subject);
        }
    }

    /**
     * Ends a session, and with it its contender entry. That a connection is broken shows at its next use, so what fails at
     * once is tried again.
     *
     * @param end when to give up
     * @return whether the server has confirmed it
     */
    boolean destroy(String id, Deadline end) {
        long start = System.nanoTime();
        return tryDestroy(id, end) || (System.nanoTime() - start < AT_ONCE_NANOS && tryDestroy(id, end));
    }

    private boolean tryDestroy(String id, Deadline end) {
        try {
            ConsulHttp.Reply reply = http.put(end, "/v1/session/destroy/" + id, "");
            if (reply.isOk()) {
                return true;
            }
            LOG.debug("{}: session {} was not destroyed and lapses: {}", subject, id, reply.text());
        } catch (NoReplyException e) {
            LOG.debug("{}: session {} was not destroyed and lapses", subject, id, e);
        }
        return false;
    }

    /**
     * Does the same to many things over several connections at once, since Consul knows no request that renews or makes more than one
     * session. The calling thread does its part too, so that nothing depends on the helpers: they may come late or not at all.
     * Thread-safe.
     */
    static final class SideBySide {
        /** How many of the client's eight connections for other requests than watches it may use. */
        private static final int AT_ONCE = 6;

        private final Executor helpers;

        /**
         * Creates it.
         *
         * @param helpers runs a task on another thread, soon
         */
        SideBySide(Executor helpers) {
            this.helpers = helpers;
        }

        /**
         * Does something to each, in about their order, and returns when all is done. After a failure what was not begun is left out.
         *
         * @param action what to do; on any thread
         * @throws RuntimeException the first failure of the action
         */
        <T> void forEach(Collection<T> things, Consumer<T> action) {
            if (things.size() == 1) {
                things.forEach(action);
                return;
            }
            Work<T> work = new Work<>(things, action);
            int more = Math.min(AT_ONCE, things.size()) - 1;
            for (int i = 0; i < more; i++) {
                try {
                    helpers.execute(work);
                } catch (RuntimeException | Error e) {
                    // There is no thread for it: then those that run do it all.
                    break;
                }
            }
            work.run();
            work.await();
        }

        private static final class Work<T> implements Runnable {
            private final Queue<T> left;
            private final CountDownLatch undone;
            private final Consumer<T> action;
            private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

            Work(Collection<T> things, Consumer<T> action) {
                this.left = new ConcurrentLinkedQueue<>(things);
                this.undone = new CountDownLatch(things.size());
                this.action = action;
            }

            @Override
            public void run() {
                for (T next = left.poll(); next != null; next = left.poll()) {
                    try {
                        if (failure.get() == null) {
                            action.accept(next);
                        }
                    } catch (RuntimeException | Error e) {
                        failure.compareAndSet(null, e);
                    } finally {
                        undone.countDown();
                    }
                }
            }

            void await() {
                try (InterruptShield shield = new InterruptShield()) {
                    while (undone.getCount() > 0) {
                        try {
                            undone.await();
                        } catch (InterruptedException e) {
                            shield.absorb(e);
                        }
                    }
                }
                Throwable thrown = failure.get();
                if (thrown instanceof RuntimeException exception) {
                    throw exception;
                }
                if (thrown instanceof Error error) {
                    throw error;
                }
            }
        }
    }
}
