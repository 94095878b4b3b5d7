package io.github.distributedsemaphore.consul;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.consul.net.ConsulHttp;
import io.github.distributedsemaphore.consul.net.ConsulHttp.NoReplyException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Operations that Consul does all or none of, in one commit. Built once, sent as often as it takes. */
final class Transaction {
    /** Consul's own bound. */
    static final int MAX_OPERATIONS = 64;

    private final JsonArray operations = new JsonArray();

    /** Writes a contender's value, if its session is alive; takes the lock on it if need be. */
    Transaction lock(String key, String session, String value) {
        JsonObject operation = operation("lock", key);
        operation.addProperty("Session", session);
        return write(operation, value);
    }

    /** Writes, if the key was not changed since that index; 0 if it does not exist. */
    Transaction cas(String key, long index, String value) {
        JsonObject operation = operation("cas", key);
        operation.addProperty("Index", index);
        return write(operation, value);
    }

    /** Goes through only if the key was not changed since that index. */
    Transaction check(String key, long index) {
        operation("check-index", key).addProperty("Index", index);
        return this;
    }

    /** Deletes, if the key was not changed since that index. */
    Transaction delete(String key, long index) {
        operation("delete-cas", key).addProperty("Index", index);
        return this;
    }

    /** Deletes. */
    Transaction delete(String key) {
        operation("delete", key);
        return this;
    }

    private Transaction write(JsonObject operation, String value) {
        operation.addProperty("Flags", LockBody.FLAGS);
        operation.addProperty("Value", Base64.getEncoder().encodeToString(value.getBytes(StandardCharsets.UTF_8)));
        return this;
    }

    private JsonObject operation(String verb, String key) {
        JsonObject operation = new JsonObject();
        operation.addProperty("Verb", verb);
        operation.addProperty("Key", key);
        JsonObject wrapper = new JsonObject();
        wrapper.add("KV", operation);
        operations.add(wrapper);
        return operation;
    }

    /** What became of it. */
    enum Status {
        OK,
        /** Somebody else was first; nothing was done. */
        CONFLICT,
        /** A session is dead; nothing was done. */
        SESSION_DEAD,
        /** A right is missing; nothing was done. */
        DENIED,
        /** The request did not reach the server, or was refused as a whole; nothing was done. */
        NOT_DONE,
        UNKNOWN
    }

    /**
     * What became of it.
     *
     * @param status what
     * @param text why, for messages
     * @param indexes the index of each key that was written
     */
    record Outcome(Status status, String text, Map<String, Long> indexes) {
        private static Outcome of(Status status, String text) {
            return new Outcome(status, text, Map.of());
        }

        /** In the words of the port, for one that was not done, or of which nobody knows. */
        SemaphoreException failure(String subject) {
            return switch (status) {
                case DENIED -> ConsulHttp.denied(subject, text);
                case UNKNOWN -> unknown(subject, text);
                default -> new BackendUnavailableException(subject + ": nothing was done, " + text, null);
            };
        }
    }

    static OutcomeUnknownException unknown(String subject, String text) {
        return new OutcomeUnknownException(subject + ": it is not known whether the request was done: " + text, null);
    }

    Outcome send(ConsulHttp http, Deadline end) {
        try {
            return outcome(http.put(end, "/v1/txn", operations.toString()));
        } catch (NoReplyException e) {
            return Outcome.of(e.isUnsent() ? Status.NOT_DONE : Status.UNKNOWN, String.valueOf(e.getMessage()));
        } catch (RuntimeException e) {
            return Outcome.of(Status.UNKNOWN, "the answer is not Consul's: " + e.getMessage());
        }
    }

    /** Sends one after the other until one is not done; the indexes in the outcome are those of all. */
    static Outcome sendAll(List<Transaction> transactions, ConsulHttp http, Deadline end) {
        Map<String, Long> indexes = new HashMap<>();
        for (Transaction transaction : transactions) {
            Outcome outcome = transaction.send(http, end);
            if (outcome.status() != Status.OK) {
                return outcome;
            }
            indexes.putAll(outcome.indexes());
        }
        return new Outcome(Status.OK, "", indexes);
    }

    private static Outcome outcome(ConsulHttp.Reply reply) {
        return switch (reply.status()) {
            case 200 -> new Outcome(Status.OK, "", indexes(reply.body()));
            case 409 -> failed(reply);
            case 401, 403 -> Outcome.of(Status.DENIED, reply.text());
            default ->
                Outcome.of(
                        reply.status() >= 400 && reply.status() < 500 && reply.status() != 429
                                ? Status.NOT_DONE
                                : Status.UNKNOWN,
                        reply.text());
        };
    }

    private static Map<String, Long> indexes(String body) {
        Map<String, Long> indexes = new HashMap<>();
        JsonElement results = Json.parse(body).getAsJsonObject().get("Results");
        // Consul names them also where there are none. What stands between may answer 200 with something else.
        if (results == null) {
            throw new IllegalStateException("it has no results");
        }
        if (results.isJsonArray()) {
            for (JsonElement result : results.getAsJsonArray()) {
                JsonObject written = result.getAsJsonObject().getAsJsonObject("KV");
                indexes.put(Json.text(written, "Key"), Json.number(written, "ModifyIndex"));
            }
        }
        return indexes;
    }

    /** Consul answers 409 also when a right is missing or a session has ended: the texts differ. */
    private static Outcome failed(ConsulHttp.Reply reply) {
        JsonObject error = Json.parse(reply.body())
                .getAsJsonObject()
                .getAsJsonArray("Errors")
                .get(0)
                .getAsJsonObject();
        String text = Json.text(error, "What");
        // Keys and ids are quoted, and may hold any of the words that are looked for.
        String what = text.replaceAll("\"[^\"]*\"", "");
        Status status;
        if (what.contains("Permission denied") || what.contains("ACL not found")) {
            status = Status.DENIED;
        } else if (what.contains("index") || what.contains("doesn't exist")) {
            status = Status.CONFLICT;
        } else if (what.contains("session") || what.contains("lock")) {
            status = Status.SESSION_DEAD;
        } else {
            status = Status.NOT_DONE;
        }
        return Outcome.of(status, text);
    }
}
