package io.github.distributedsemaphore.tck.agent;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** The lines between the kit and an agent. */
final class AgentJson {
    static final Gson GSON = new Gson();

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

    static JsonObject checked(JsonObject answer) {
        if (answer.has("error")) {
            throw new AgentException(
                    answer.get("error").getAsString(), answer.get("message").getAsString());
        }
        return answer;
    }

    static Optional<AgentPermits> permits(JsonObject answer) {
        return answer.has("ref") ? Optional.of(GSON.fromJson(answer, AgentPermits.class)) : Optional.empty();
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
