package io.github.distributedsemaphore.cli.live;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.SemaphoreStatus;
import io.github.distributedsemaphore.cli.common.StatusJson;
import io.github.distributedsemaphore.cli.live.Snapshot.Row;
import java.util.List;

/**
 * What the views show, for programs. The names and the order of the members of {@link #list} and {@link #now} are part of the
 * command's contract.
 */
final class LiveJson {
    private LiveJson() {}

    /** What {@code list --json} prints. */
    static String list(List<SemaphoreStatus> all) {
        JsonArray array = new JsonArray();
        for (SemaphoreStatus one : all) {
            JsonObject object = new JsonObject();
            object.addProperty("name", one.name());
            object.addProperty("limit", one.limit());
            object.addProperty("held", one.limit() - one.free());
            object.addProperty("free", one.free());
            array.add(object);
        }
        return array.toString();
    }

    /** What {@code top --once --json} prints. */
    static JsonObject now(Snapshot snapshot) {
        JsonArray rows = new JsonArray();
        snapshot.rows().forEach(row -> rows.add(row(row)));
        JsonObject object = new JsonObject();
        object.addProperty("backend", snapshot.source().backend());
        object.addProperty("address", snapshot.source().address());
        object.addProperty("detectionMillis", snapshot.source().detection().toMillis());
        object.addProperty("at", snapshot.at().toString());
        object.addProperty("tookMillis", snapshot.took().toMillis());
        object.add("semaphores", rows);
        return object;
    }

    private static JsonObject row(Row row) {
        JsonObject object = new JsonObject();
        if (row.now() == null) {
            object.addProperty("name", row.name());
            object.addProperty("problem", row.problem());
            return object;
        }
        StatusJson.json(row.now()).entrySet().forEach(member -> object.add(member.getKey(), member.getValue()));
        object.addProperty("held", row.held());
        object.addProperty("retired", row.count(HolderState.RETIRED));
        object.addProperty("expired", row.count(HolderState.EXPIRED));
        object.add(
                "oldest",
                row.oldest()
                        .<JsonElement>map(since -> new JsonPrimitive(since.toString()))
                        .orElse(JsonNull.INSTANCE));
        return object;
    }

    /**
     * What the page asks for: the same, and what it does not have yet of the past and of the changes.
     *
     * @param seen the number of the last reading that the page has; 0 if it has none
     */
    static JsonObject page(Snapshot snapshot, long seen) {
        int size = snapshot.ages().size();
        // A page that has seen more than there is belongs to an earlier run of the command.
        long missing = seen > snapshot.reading() ? size : Math.min(size, snapshot.reading() - seen);
        int from = size - (int) missing;
        JsonObject object = now(snapshot);
        object.addProperty("reading", snapshot.reading());
        object.addProperty("pauseMillis", snapshot.pause().toMillis());
        object.addProperty("trouble", snapshot.trouble());
        object.addProperty("silenceMillis", snapshot.silence().toMillis());
        object.add("ages", numbers(snapshot.ages().subList(from, size)));
        JsonArray rows = object.getAsJsonArray("semaphores");
        for (int i = 0; i < rows.size(); i++) {
            List<Integer> past = snapshot.rows().get(i).past();
            rows.get(i).getAsJsonObject().add("past", numbers(past.subList(from, size)));
        }
        object.add("changes", changes(snapshot));
        return object;
    }

    private static JsonArray numbers(List<? extends Number> numbers) {
        JsonArray array = new JsonArray();
        numbers.forEach(array::add);
        return array;
    }

    private static JsonArray changes(Snapshot snapshot) {
        JsonArray changes = new JsonArray();
        for (Change change : snapshot.changes()) {
            JsonObject object = new JsonObject();
            object.addProperty("reading", change.reading());
            object.addProperty("at", change.at().toString());
            object.addProperty("name", change.semaphore());
            object.addProperty("kind", change.kind().word());
            object.addProperty("detail", change.detail());
            changes.add(object);
        }
        return changes;
    }
}
