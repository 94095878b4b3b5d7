package io.github.distributedsemaphore.tck.report;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;

/** What a backend declares, for machines. No bound is the greatest number of nanoseconds. */
final class GuaranteesJson {
    private GuaranteesJson() {}

    static JsonObject of(Guarantees guarantees) {
        JsonObject json = new JsonObject();
        JsonArray capabilities = new JsonArray();
        guarantees.capabilities().stream().sorted().forEach(it -> capabilities.add(it.name()));
        json.add("capabilities", capabilities);
        json.addProperty("detectionMinNanos", BoundReport.nanos(guarantees.detectionMin()));
        json.addProperty("detectionMaxNanos", BoundReport.nanos(guarantees.detectionMax()));
        json.addProperty("lossNoticeNanos", BoundReport.nanos(guarantees.lossNoticeBound()));
        json.addProperty("wakeUpNanos", BoundReport.nanos(guarantees.wakeUpBound()));
        json.addProperty("operationNanos", BoundReport.nanos(guarantees.callBound()));
        json.addProperty("handOffNanos", BoundReport.nanos(guarantees.handOffBound()));
        JsonObject exposure = new JsonObject();
        for (Fault fault : Fault.values()) {
            Exposure declared = guarantees.exposure(fault);
            if (!declared.equals(Exposure.CANNOT_HAPPEN)) {
                exposure.addProperty(fault.name(), BoundReport.nanos(declared));
            }
        }
        json.add("exposureNanos", exposure);
        json.addProperty("maxNameBytes", guarantees.maxNameBytes());
        json.addProperty("maxPermits", guarantees.maxPermits());
        JsonArray notes = new JsonArray();
        guarantees.notes().forEach(notes::add);
        json.add("notes", notes);
        return json;
    }
}
