package io.github.distributedsemaphore.tck.report;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.distributedsemaphore.Guarantees;
import java.util.Map;

/** What a backend declares, for machines. For ever is the greatest number of nanoseconds. */
final class GuaranteesJson {
    private GuaranteesJson() {}

    static JsonObject of(Guarantees guarantees) {
        JsonObject json = new JsonObject();
        JsonArray capabilities = new JsonArray();
        guarantees.capabilities().stream().sorted().forEach(it -> capabilities.add(it.name()));
        json.add("capabilities", capabilities);
        json.addProperty("detectionMinNanos", BoundReport.nanos(guarantees.detectionMin()));
        json.addProperty("detectionMaxNanos", BoundReport.nanos(guarantees.detectionMax()));
        json.addProperty("lossNoticeNanos", BoundReport.nanos(guarantees.lossNotice()));
        json.addProperty("wakeUpNanos", BoundReport.nanos(guarantees.wakeUp()));
        json.addProperty("operationNanos", BoundReport.nanos(guarantees.operation()));
        json.addProperty("handOffNanos", BoundReport.nanos(guarantees.handOff()));
        JsonObject exposure = new JsonObject();
        guarantees.exposure().entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .forEach(entry -> exposure.addProperty(entry.getKey().name(), BoundReport.nanos(entry.getValue())));
        json.add("exposureNanos", exposure);
        json.addProperty("maxNameBytes", guarantees.maxNameBytes());
        json.addProperty("maxPermits", guarantees.maxPermits());
        JsonArray notes = new JsonArray();
        guarantees.notes().forEach(notes::add);
        json.add("notes", notes);
        return json;
    }
}
