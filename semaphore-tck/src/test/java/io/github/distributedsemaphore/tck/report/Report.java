package io.github.distributedsemaphore.tck.report;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A conformance report as it was written to {@code docs/conformance}. */
record Report(JsonObject json) {
    static final Path FOLDER = Path.of("..", "docs", "conformance");

    /** The order of the columns, the same in all documents. */
    private static final List<String> ORDER = List.of("local", "postgresql", "redis", "rabbitmq", "consul");

    static List<Report> in(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".json"))
                    .map(Report::read)
                    .sorted(Comparator.comparing(report -> ORDER.indexOf(report.backend())))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Report read(Path file) {
        try {
            return new Report(JsonParser.parseString(Files.readString(file)).getAsJsonObject());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String backend() {
        return json.get("backend").getAsString();
    }

    String run(String what) {
        return json.getAsJsonObject("run").get(what).getAsString();
    }

    String text(String what) {
        return json.get(what).getAsString();
    }

    private JsonObject guarantees() {
        return json.getAsJsonObject("guarantees");
    }

    boolean has(String capability) {
        return guarantees().getAsJsonArray("capabilities").asList().stream()
                .anyMatch(it -> it.getAsString().equals(capability));
    }

    Duration duration(String name) {
        return Duration.ofNanos(guarantees().get(name).getAsLong());
    }

    int number(String name) {
        return guarantees().get(name).getAsInt();
    }

    /** Empty where the fault cannot happen. */
    Optional<Long> exposureNanos(String fault) {
        return Optional.ofNullable(guarantees().getAsJsonObject("exposureNanos").get(fault))
                .map(JsonElement::getAsLong);
    }

    private Stream<JsonObject> objects(String array) {
        return json.getAsJsonArray(array).asList().stream().map(JsonElement::getAsJsonObject);
    }

    /** The state and the reason of each rule. */
    Map<String, JsonObject> rules() {
        return objects("rules").collect(Collectors.toMap(it -> it.get("rule").getAsString(), it -> it));
    }

    long count(String state) {
        return rules().values().stream()
                .filter(rule -> rule.get("state").getAsString().equals(state))
                .count();
    }

    JsonObject bound(String name) {
        return objects("bounds")
                .filter(bound -> bound.get("bound").getAsString().equals(name))
                .findFirst()
                .orElseThrow();
    }

    List<JsonObject> histories() {
        return objects("histories").toList();
    }
}
