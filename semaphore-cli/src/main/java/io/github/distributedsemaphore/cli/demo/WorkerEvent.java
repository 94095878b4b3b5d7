package io.github.distributedsemaphore.cli.demo;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.util.Locale;

/**
 * What a worker tells the demonstration, a line of JSON each.
 *
 * @param kind what happened
 * @param at when, in nanoseconds of the monotonic clock, which the processes of one machine share
 * @param slot the slot; 0 where there is none
 * @param epoch the epoch of the permit; -1 where the backend has none
 * @param waitedNanos how long the worker waited for the permit, in nanoseconds; for {@link Kind#GRANTED}
 * @param message what went wrong; for {@link Kind#FAILED}
 */
record WorkerEvent(Kind kind, long at, int slot, long epoch, long waitedNanos, String message) {
    /** What can happen. */
    enum Kind {
        /** Connected, and waits for the start. */
        READY,
        /** Asks for a permit. */
        WAITING,
        /** Has a permit. The time is read after the grant. */
        GRANTED,
        /** Is about to give it back. The time is read before the release. */
        RELEASING,
        /** Cannot go on. */
        FAILED
    }

    static WorkerEvent of(Kind kind, long at) {
        return new WorkerEvent(kind, at, 0, -1, 0, "");
    }

    static WorkerEvent failed(long at, String message) {
        return new WorkerEvent(Kind.FAILED, at, 0, -1, 0, message);
    }

    String toJson() {
        JsonObject object = new JsonObject();
        object.addProperty("event", kind.name().toLowerCase(Locale.ROOT));
        object.addProperty("at", at);
        object.addProperty("slot", slot);
        object.addProperty("epoch", epoch);
        object.addProperty("waited", waitedNanos);
        object.addProperty("message", message);
        return object.toString();
    }

    static WorkerEvent fromJson(String line) {
        JsonObject object = JsonParser.parseString(line).getAsJsonObject();
        return new WorkerEvent(
                Kind.valueOf(object.get("event").getAsString().toUpperCase(Locale.ROOT)),
                object.get("at").getAsLong(),
                object.get("slot").getAsInt(),
                object.get("epoch").getAsLong(),
                object.get("waited").getAsLong(),
                object.get("message").getAsString());
    }
}
