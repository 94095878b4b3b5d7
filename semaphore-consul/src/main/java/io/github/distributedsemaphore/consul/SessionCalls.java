package io.github.distributedsemaphore.consul;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
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
                throw Failures.refused(subject, reply);
            }
            return new SlotSession(Json.text(Json.parse(reply.body()).getAsJsonObject(), "ID"), start);
        } catch (NoReplyException e) {
            throw Failures.unavailable(subject, e);
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
                throw Failures.refused(subject, reply);
            }
            return reply.isOk();
        } catch (NoReplyException e) {
            throw Failures.unavailable(subject, e);
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
}
