package io.github.distributedsemaphore.consul;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.consul.SessionPool.SlotSession;
import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.consul.net.ConsulHttp.NoReplyException;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes Consul sessions, keeps them alive and ends them; which there are and what for is known to the pool. Thread-safe. */
final class SessionCalls {
    private static final Logger LOG = LoggerFactory.getLogger(SessionCalls.class);

    private static final long AT_ONCE_NANOS = 1_000_000_000;

    private final ConsulHttp http;
    private final String subject;
    private final String node;
    /** Whether the settings say where a session is. */
    private final boolean hasPlace;

    private final String body;
    private final long ttlNanos;
    private final SideBySide sideBySide;

    /** Sessions that were to end and may be alive, and since when: their slots are taken until they lapse. */
    private final Map<String, Long> unended = new ConcurrentHashMap<>();

    SessionCalls(ConsulHttp http, String name, String subject, ConsulSettings settings, SideBySide sideBySide) {
        this.http = http;
        this.subject = subject;
        this.node = settings.node();
        this.hasPlace = !(node.isEmpty() && settings.datacenter().isEmpty());
        JsonObject session = new JsonObject();
        session.addProperty("Name", "distributed-semaphore '" + name + "'");
        session.addProperty("TTL", settings.ttl().toMillis() + "ms");
        session.addProperty("Behavior", "delete");
        session.addProperty("LockDelay", "0s");
        if (!node.isEmpty()) {
            session.addProperty("Node", node);
        }
        // No health check: one that fails would end the session before its time, and the holder could not know.
        session.add("Checks", new JsonArray());
        this.body = session.toString();
        this.ttlNanos = settings.ttl().toNanos();
        this.sideBySide = sideBySide;
    }

    /**
     * Makes a session.
     *
     * @param end when to give up
     * @throws BackendUnavailableException if there is no answer; what was made, if anything, lapses
     * @throws BackendAccessException if a right is missing, or the catalog does not have the session's node
     */
    SlotSession create(Deadline end) {
        long start = System.nanoTime();
        try {
            ConsulHttp.Reply reply = http.put(end, "/v1/session/create", body);
            if (!reply.isOk()) {
                throw refused(reply);
            }
            return new SlotSession(Json.text(Json.parse(reply.body()).getAsJsonObject(), "ID"), start);
        } catch (NoReplyException e) {
            throw e.unavailable(subject);
        } catch (JsonParseException | IllegalStateException | UnsupportedOperationException e) {
            throw new BackendUnavailableException(subject + ": the answer is not Consul's: " + e.getMessage(), e);
        }
    }

    /**
     * For Consul it is an error of the server's that the catalog does not have the session's node. For an operator it is a matter of
     * settings, except where the agent uses its own node in its own datacenter: that node comes back by itself.
     */
    private SemaphoreException refused(ConsulHttp.Reply reply) {
        boolean withoutNode = reply.status() == 500 && reply.body().contains("Missing node registration");
        if (!withoutNode || !hasPlace) {
            return reply.refused(subject);
        }
        return new BackendAccessException(
                subject + ": nothing was done, the catalog does not have "
                        + (node.isEmpty() ? "the agent's node" : "node '" + node + "'") + " (" + reply.text()
                        + "). Register a node in the datacenter of the semaphores, and name it by the setting 'node'. If the"
                        + " setting 'dc' names another datacenter than the agent's, 'node' is needed",
                null);
    }

    /**
     * Renews a session.
     *
     * @param end when to give up
     * @return false if it has ended
     * @throws BackendUnavailableException if that is not known
     */
    boolean renew(SlotSession session, Deadline end) {
        long start = System.nanoTime();
        try {
            ConsulHttp.Reply reply = http.put(end, "/v1/session/renew/" + session.id(), "");
            if (!reply.isOk() && reply.status() != 404) {
                throw reply.refused(subject);
            }
            if (reply.isOk()) {
                // What stands between may answer 200 with something else, and that renews nothing.
                if (!reply.body().contains(session.id())) {
                    throw new BackendUnavailableException(
                            subject + ": the answer is not Consul's, it does not name session " + session.id(), null);
                }
                session.confirmed(start);
            }
            return reply.isOk();
        } catch (NoReplyException e) {
            throw e.unavailable(subject);
        }
    }

    /** Renews a session unless it was confirmed within that part of its time to live; false if it has ended. */
    boolean confirm(SlotSession session, int part, Deadline end) {
        return isConfirmed(session, part) || renew(session, end);
    }

    /** Whether a session is alive for a while without another question. */
    boolean isFresh(SlotSession session) {
        return isConfirmed(session, 2);
    }

    /** Whether a session was confirmed within that part of its time to live. */
    boolean isConfirmed(SlotSession session, int part) {
        return System.nanoTime() - session.confirmedNanos() < ttlNanos / part;
    }

    /** Renews sessions that were not confirmed for a long time: after a pause of this process a grant would end at once. */
    void freshen(Collection<SlotSession> sessions, Deadline end) {
        try {
            sideBySide.forEach(
                    sessions.stream().filter(session -> !isFresh(session)).toList(), session -> renew(session, end));
        } catch (SemaphoreException e) {
            LOG.debug("{}: a new permit could not be renewed, and is valid for a short time", subject, e);
        }
    }

    /**
     * Renews sessions, those first that were confirmed longest ago, and none that was confirmed lately: so what is broken off goes
     * on where it was.
     *
     * @param lately what that is, in nanoseconds
     * @param enough after which no further one is renewed
     * @param end when to give up
     * @return those that have ended
     * @throws BackendUnavailableException if the server does not answer
     */
    Set<SlotSession> renewAll(Collection<SlotSession> sessions, long lately, Deadline enough, Deadline end) {
        // Noted first: what changes meanwhile cannot be put into an order.
        long now = System.nanoTime();
        Map<SlotSession, Long> ages = new HashMap<>();
        sessions.forEach(session -> ages.put(session, now - session.confirmedNanos()));
        ages.values().removeIf(age -> age < lately);
        List<SlotSession> oldestFirst = new ArrayList<>(ages.keySet());
        oldestFirst.sort(Comparator.comparing(ages::get, Comparator.reverseOrder()));
        Set<SlotSession> ended = ConcurrentHashMap.newKeySet();
        sideBySide.forEach(oldestFirst, session -> {
            if (!enough.isPast(System.nanoTime()) && !renew(session, end)) {
                ended.add(session);
            }
        });
        return ended;
    }

    /** Returns until when all of these are alive: a time to live after the oldest confirmation; never if there are none. */
    Deadline aliveUntil(Collection<SlotSession> sessions) {
        Deadline until = Deadline.NEVER;
        for (SlotSession session : sessions) {
            until = until.earlier(Deadline.at(session.confirmedNanos() + ttlNanos));
        }
        return until;
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
        noteUnended(id);
        boolean ended = tryDestroy(id, end) || (System.nanoTime() - start < AT_ONCE_NANOS && tryDestroy(id, end));
        if (ended) {
            unended.remove(id);
        }
        return ended;
    }

    /** Noted before the request: whatever becomes of that, {@link #destroyRest} knows of it. */
    private void noteUnended(String id) {
        long now = System.nanoTime();
        // Consul takes twice the time to live, and as much again after a change of leader.
        unended.values().removeIf(since -> now - since > 4 * ttlNanos);
        unended.put(id, now);
    }

    private boolean tryDestroy(String id, Deadline end) {
        try {
            ConsulHttp.Reply reply = http.put(end, "/v1/session/destroy/" + id, "");
            // What stands between may answer 200 with something else.
            if (reply.isOk() && reply.body().strip().equals("true")) {
                return true;
            }
            LOG.debug("{}: session {} was not destroyed and lapses: {}", subject, id, reply.text());
        } catch (NoReplyException e) {
            LOG.debug("{}: session {} was not destroyed and lapses", subject, id, e);
        }
        return false;
    }

    /**
     * Ends sessions. When the server does not answer for one it will not answer for the others: they lapse.
     *
     * @return those of which the server has confirmed it
     */
    Set<String> destroyAll(Collection<String> ids, Deadline end) {
        Set<String> ended = ConcurrentHashMap.newKeySet();
        AtomicBoolean answers = new AtomicBoolean(true);
        sideBySide.forEach(ids, id -> {
            if (!answers.get()) {
                noteUnended(id);
                return;
            }
            if (destroy(id, end)) {
                ended.add(id);
            } else {
                answers.set(false);
            }
        });
        return ended;
    }

    /** Ends sessions, and then those whose end the server has not confirmed before. */
    void destroyRest(Collection<String> ids, Deadline end) {
        Set<String> rest = new LinkedHashSet<>(ids);
        rest.addAll(unended.keySet());
        destroyAll(rest, end);
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
            Queue<T> left = new ConcurrentLinkedQueue<>(things);
            CountDownLatch undone = new CountDownLatch(things.size());
            AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
            Runnable work = () -> {
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
            };
            startHelpers(work, Math.min(AT_ONCE, things.size()) - 1);
            work.run();
            boolean unused = InterruptShield.await(undone::await, Deadline.NEVER);
            Throwable thrown = failure.get();
            if (thrown instanceof RuntimeException exception) {
                throw exception;
            }
            if (thrown instanceof Error error) {
                throw error;
            }
        }

        private void startHelpers(Runnable work, int number) {
            try {
                for (int i = 0; i < number; i++) {
                    helpers.execute(work);
                }
            } catch (RuntimeException | Error e) {
                // There is no thread for it: then those that run do it all.
            }
        }
    }
}
