package io.github.distributedsemaphore.cli.common;

import com.google.gson.JsonArray;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.SemaphoreDescription;
import java.time.Instant;
import java.util.List;
import java.util.Locale;

/** Descriptions for programs. The names and the order of the members are part of the command's contract. */
public final class StatusJson {
    private StatusJson() {}

    public static String of(List<SemaphoreDescription> semaphores) {
        JsonArray array = new JsonArray();
        semaphores.forEach(semaphore -> array.add(json(semaphore)));
        return array.toString();
    }

    public static String of(SemaphoreDescription semaphore) {
        return json(semaphore).toString();
    }

    /**
     * Returns a description as an object of its own.
     *
     * @param semaphore the description
     * @return its members, which the caller may add to
     */
    public static JsonObject json(SemaphoreDescription semaphore) {
        JsonArray holders = new JsonArray();
        semaphore.holders().forEach(holder -> holders.add(json(holder)));
        JsonObject object = new JsonObject();
        object.addProperty("name", semaphore.name());
        object.addProperty("limit", semaphore.limit());
        object.addProperty("free", semaphore.free());
        object.add("holders", holders);
        return object;
    }

    private static JsonObject json(Holder holder) {
        Instant since = holder.since();
        JsonObject object = new JsonObject();
        object.addProperty("slot", holder.slot());
        object.addProperty("epoch", holder.epoch());
        object.addProperty("host", holder.host());
        object.addProperty("pid", holder.pid());
        object.addProperty("label", holder.label());
        object.add("since", since == null ? JsonNull.INSTANCE : new JsonPrimitive(since.toString()));
        object.addProperty("state", holder.state().name().toLowerCase(Locale.ROOT));
        return object;
    }
}
