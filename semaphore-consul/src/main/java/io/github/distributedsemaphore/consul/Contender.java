package io.github.distributedsemaphore.consul;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.time.DateTimeException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A contender entry: the key named after a live session and locked by it. In its value, which the official client leaves
 * alone, our clients keep the slot and who they are, or that they wait. Whether the slot counts is decided by {@code .lock} only.
 *
 * @param session the session id
 * @param modifyIndex when the entry was written last; our epochs come from it
 * @param slot the slot that was taken last; 0 if the entry is not one of our clients' or took none yet
 * @param nonce of the transaction that took it
 * @param holder the process that contends; null if not known
 * @param since when, by that host's wall clock, as text; empty if not known
 * @param waiting for how many permits it waits unless it holds a slot; 0 if it does not wait. A client that is not ours waits for one
 */
record Contender(
        String session,
        long modifyIndex,
        int slot,
        String nonce,
        @Nullable HolderInfo holder,
        String since,
        int waiting) {

    /** The value of an entry that holds a slot. */
    static String value(int slot, String nonce, HolderInfo holder, Instant since) {
        JsonObject value = new JsonObject();
        value.addProperty("Slot", slot);
        value.addProperty("Nonce", nonce);
        value.addProperty("Host", holder.host());
        value.addProperty("Pid", holder.pid());
        value.addProperty("Label", holder.label());
        value.addProperty("Since", since.toString());
        return value.toString();
    }

    /** Since when the slot is held, by that host's wall clock; null if that is not known. Parsed only for those who ask. */
    @Nullable
    Instant heldSince() {
        try {
            return since.isEmpty() ? null : Instant.parse(since);
        } catch (DateTimeException e) {
            return null;
        }
    }

    /** The value of an entry that waits. */
    static String waitingValue(int permits) {
        JsonObject value = new JsonObject();
        value.addProperty("Waiting", permits);
        return value.toString();
    }

    static Contender parse(String session, long modifyIndex, String value) {
        try {
            if (value.startsWith("{")) {
                JsonObject object = Json.parse(value).getAsJsonObject();
                Integer waiting = Json.positive(object.get("Waiting"));
                if (waiting != null) {
                    return waiting(session, modifyIndex, waiting);
                }
                Integer slot = Json.positive(object.get("Slot"));
                HolderInfo holder = new HolderInfo(
                        Json.text(object, "Host"), Json.number(object, "Pid"), Json.text(object, "Label"));
                return new Contender(
                        session,
                        modifyIndex,
                        slot == null ? 0 : slot,
                        Json.text(object, "Nonce"),
                        holder,
                        Json.text(object, "Since"),
                        0);
            }
        } catch (JsonParseException
                | IllegalStateException
                | IllegalArgumentException
                | UnsupportedOperationException e) {
            return foreign(session, modifyIndex);
        }
        return foreign(session, modifyIndex);
    }

    static Contender waiting(String session, long modifyIndex, int permits) {
        return new Contender(session, modifyIndex, 0, "", null, "", permits);
    }

    private static Contender foreign(String session, long modifyIndex) {
        return waiting(session, modifyIndex, 1);
    }
}
