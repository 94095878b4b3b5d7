package io.github.distributedsemaphore.tck.agent;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.distributedsemaphore.Fence;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.history.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** The lines between the kit and an agent. */
final class AgentJson {
    private AgentJson() {}

    static JsonObject connect(String uri, ClientSpec spec) {
        JsonObject request = new JsonObject();
        request.addProperty("uri", spec.without(uri));
        JsonObject settings = new JsonObject();
        spec.settings().forEach(settings::addProperty);
        if (!spec.label().isEmpty()) {
            settings.addProperty("label", spec.label());
        }
        request.add("settings", settings);
        return request;
    }

    static JsonObject workload(String name, Workload workload, String prefix) {
        JsonObject request = named(name);
        request.addProperty("prefix", prefix);
        request.addProperty("limit", workload.limit());
        request.addProperty("threads", workload.threads());
        request.addProperty("rounds", workload.rounds());
        request.addProperty("largest", workload.largest());
        request.addProperty("holdMicros", workload.holdMicros());
        request.addProperty("waitMillis", workload.waitMillis());
        request.addProperty("budgetMillis", workload.budgetMillis());
        request.addProperty("enoughHeld", workload.enoughHeld());
        request.addProperty("seed", workload.seed());
        request.addProperty("mayFail", workload.mayFail());
        return request;
    }

    static Workload workload(JsonObject request) {
        return new Workload(
                request.get("limit").getAsInt(),
                request.get("threads").getAsInt(),
                request.get("rounds").getAsInt(),
                request.get("largest").getAsInt(),
                request.get("holdMicros").getAsInt(),
                request.get("waitMillis").getAsInt(),
                request.get("budgetMillis").getAsInt(),
                request.get("enoughHeld").getAsInt(),
                request.get("seed").getAsLong(),
                request.get("mayFail").getAsBoolean());
    }

    static JsonObject checked(JsonObject answer) {
        if (answer.has("error")) {
            throw new AgentException(
                    answer.get("error").getAsString(), answer.get("message").getAsString());
        }
        return answer;
    }

    static Optional<AgentPermits> permits(JsonObject answer) {
        if (!answer.has("ref")) {
            return Optional.empty();
        }
        List<Integer> slots = list(answer, "slots", JsonElement::getAsInt);
        List<Long> epochs = list(answer, "epochs", JsonElement::getAsLong);
        List<Fence> fences = new ArrayList<>();
        for (int i = 0; i < epochs.size(); i++) {
            fences.add(new Fence(slots.get(i), epochs.get(i)));
        }
        return Optional.of(new AgentPermits(
                answer.get("ref").getAsLong(),
                slots,
                fences,
                answer.get("invoked").getAsLong(),
                answer.get("returned").getAsLong(),
                answer.get("validUntil").getAsLong()));
    }

    static <T> List<T> list(JsonObject answer, String name, Function<JsonElement, T> element) {
        List<T> list = new ArrayList<>();
        answer.getAsJsonArray(name).forEach(item -> list.add(element.apply(item)));
        return list;
    }

    static JsonObject named(String name) {
        JsonObject request = new JsonObject();
        request.addProperty("name", name);
        return request;
    }

    static JsonObject about(AgentPermits permits) {
        JsonObject request = new JsonObject();
        request.addProperty("ref", permits.ref());
        return request;
    }
}
