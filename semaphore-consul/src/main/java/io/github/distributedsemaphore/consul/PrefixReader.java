package io.github.distributedsemaphore.consul;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.consul.PrefixView.Contender;
import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.consul.net.ConsulHttp.NoReplyException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads what is stored below the prefix of a semaphore. Thread-safe. */
final class PrefixReader {
    /** Between two answers rights may come and go; three that contradict each other are no chance. */
    private static final int MOST_READINGS = 3;

    private final ConsulHttp http;
    private final String prefix;
    private final String subject;

    PrefixReader(ConsulHttp http, String prefix, String subject) {
        this.http = http;
        this.prefix = prefix;
        this.subject = subject;
    }

    String prefix() {
        return prefix;
    }

    /** Where the listing starts: with the slash, or else it would show siblings whose names begin alike. */
    static String listing(String prefix) {
        return "/v1/kv/" + prefix + "/";
    }

    /**
     * Reads from the leader's own truth. A server that has lost its followers does not answer; one that answers by default
     * consistency may tell what was.
     *
     * @param end when to give up
     * @throws BackendUnavailableException if there is no answer
     * @throws io.github.distributedsemaphore.BackendAccessException if a right is missing
     * @throws IncompatibleStateException if something else is stored there
     */
    PrefixView read(Deadline end) {
        try {
            for (int i = 0; i < MOST_READINGS; i++) {
                ConsulHttp.Reply reply = http.get(end, listing(prefix), "recurse", "consistent");
                if (reply.isOk()) {
                    return parse(reply.body());
                }
                if (reply.status() != 404) {
                    throw reply.refused(subject);
                }
                if (!exists(end)) {
                    return empty();
                }
            }
        } catch (NoReplyException e) {
            throw e.unavailable(subject);
        }
        throw new BackendUnavailableException(
                subject + ": nothing was done, Consul lists no key below " + prefix + "/ although "
                        + key(KeyNames.LIMIT) + " is there; the token may lack the right to read some of the keys",
                null);
    }

    /**
     * Reads what became of a request that got no answer.
     *
     * @throws OutcomeUnknownException if there is no answer to this one either
     */
    PrefixView readOrUnknown(Deadline end, String last) {
        try {
            return read(end);
        } catch (SemaphoreException e) {
            throw new OutcomeUnknownException(
                    subject + ": it is not known whether the request was done: " + last + "; then " + e.getMessage(),
                    e);
        }
    }

    /**
     * Whether there is a semaphore although the listing is empty. A listing without rights is empty like that of nothing, and rights may
     * have come back since; a single key tells these apart.
     */
    boolean exists(Deadline end) {
        try {
            ConsulHttp.Reply reply = http.get(end, "/v1/kv/" + key(KeyNames.LIMIT), "consistent");
            if (!reply.isOk() && reply.status() != 404) {
                throw reply.refused(subject);
            }
            return reply.isOk();
        } catch (NoReplyException e) {
            throw e.unavailable(subject);
        }
    }

    private String key(String last) {
        return prefix + "/" + last;
    }

    PrefixView empty() {
        return new PrefixView(prefix, 0, 0, null, 0, Map.of());
    }

    /** Takes a listing apart. Keys deeper down belong to other semaphores. */
    PrefixView parse(String listing) {
        int limit = 0;
        long limitIndex = 0;
        LockBody lock = null;
        long lockIndex = 0;
        Map<String, Contender> contenders = new HashMap<>();
        try {
            for (JsonElement element : Json.parse(listing).getAsJsonArray()) {
                JsonObject entry = element.getAsJsonObject();
                String key = Json.text(entry, "Key");
                String last = key.startsWith(prefix + "/") ? key.substring(prefix.length() + 1) : "/";
                String session = Json.text(entry, "Session");
                long index = Json.number(entry, "ModifyIndex");
                if (last.equals(KeyNames.LOCK)) {
                    lock = lock(key, entry);
                    lockIndex = index;
                } else if (last.equals(KeyNames.LIMIT)) {
                    limit = limit(key, value(entry));
                    limitIndex = index;
                } else if (last.indexOf('/') < 0 && !session.isEmpty()) {
                    contenders.put(session, Contender.parse(session, index, value(entry)));
                }
            }
        } catch (JsonParseException
                | IllegalStateException
                | IllegalArgumentException
                | UnsupportedOperationException e) {
            throw new BackendUnavailableException(subject + ": the answer is not Consul's: " + e.getMessage(), e);
        }
        return new PrefixView(prefix, limit, limitIndex, lock, lockIndex, contenders);
    }

    private static @Nullable LockBody lock(String key, JsonObject entry) {
        String text = value(entry);
        String flags = Json.text(entry, "Flags");
        // The official client takes an empty value for no lock at all; with other flags it is somebody else's.
        boolean none = text.isEmpty() && flags.equals(LockBody.FLAGS.toString());
        return none ? null : LockBody.parse(key, flags, text);
    }

    private static int limit(String key, String text) {
        Integer limit = null;
        try {
            JsonElement json = Json.parse(text);
            limit = json.isJsonObject() ? Json.positive(json.getAsJsonObject().get("Limit")) : null;
        } catch (JsonParseException e) {
            // Told below, with what was found.
        }
        if (limit == null) {
            throw new IncompatibleStateException(
                    "Key " + key + " holds '" + text
                            + "', expected {\"Limit\":n}. Nothing was changed: restore the key, or"
                            + " delete it and create the semaphore again",
                    null);
        }
        return limit;
    }

    private static String value(JsonObject entry) {
        return new String(Base64.getDecoder().decode(Json.text(entry, "Value")), StandardCharsets.UTF_8);
    }
}
