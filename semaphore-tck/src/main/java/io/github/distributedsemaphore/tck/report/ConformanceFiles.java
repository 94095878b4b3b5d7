package io.github.distributedsemaphore.tck.report;

import static io.github.distributedsemaphore.tck.report.Markup.readable;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;

/** Writes a {@link Conformance} for machines and for people. */
public final class ConformanceFiles {
    private static final Gson GSON =
            new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();

    private ConformanceFiles() {}

    /**
     * Writes {@code conformance.json}, {@code conformance.txt} and {@code conformance.html}.
     *
     * @param conformance what to write
     * @param folder where to; it is made
     */
    public static void write(Conformance conformance, Path folder) {
        try {
            Files.createDirectories(folder);
            Files.writeString(folder.resolve("conformance.json"), GSON.toJson(json(conformance)) + "\n");
            Files.writeString(folder.resolve("conformance.txt"), text(conformance));
            Files.writeString(folder.resolve("conformance.html"), ConformanceHtml.of(conformance));
        } catch (IOException e) {
            throw new UncheckedIOException("the report cannot be written to " + folder, e);
        }
    }

    static JsonObject json(Conformance conformance) {
        JsonObject json = new JsonObject();
        json.addProperty("title", conformance.title());
        json.addProperty("backend", conformance.guarantees().backend());
        json.addProperty("kit", conformance.kit());
        json.addProperty("level", conformance.level());
        json.add("run", object(conformance.run()));
        json.add("guarantees", GuaranteesJson.of(conformance.guarantees()));
        JsonArray rules = new JsonArray();
        conformance.rules().forEach(verdict -> rules.add(verdict(verdict)));
        json.add("rules", rules);
        JsonArray bounds = new JsonArray();
        conformance.bounds().forEach(bound -> bounds.add(bound(bound)));
        json.add("bounds", bounds);
        json.add("histories", GSON.toJsonTree(conformance.histories()));
        json.add("states", GSON.toJsonTree(conformance.states()));
        json.add("unproven", object(conformance.unproven()));
        JsonArray untouched = new JsonArray();
        conformance.untouched().forEach(untouched::add);
        json.add("untouched", untouched);
        return json;
    }

    private static JsonObject object(Map<String, String> map) {
        JsonObject json = new JsonObject();
        map.forEach(json::addProperty);
        return json;
    }

    private static JsonObject verdict(Conformance.Verdict verdict) {
        JsonObject json = new JsonObject();
        json.addProperty("rule", verdict.rule().id());
        json.addProperty("kind", verdict.rule().kind().name().toLowerCase(Locale.ROOT));
        json.addProperty("level", verdict.rule().level());
        json.addProperty("state", verdict.state().word());
        json.addProperty("reason", verdict.reason());
        return json;
    }

    private static JsonObject bound(BoundReport bound) {
        JsonObject json = new JsonObject();
        json.addProperty("bound", bound.bound().name());
        json.addProperty("declaredNanos", bound.declared());
        json.addProperty("count", bound.count());
        json.addProperty("medianNanos", bound.median());
        json.addProperty("p99Nanos", bound.p99());
        json.addProperty("maxNanos", bound.max());
        json.addProperty("remark", bound.remark());
        return json;
    }

    static String text(Conformance conformance) {
        StringBuilder text = new StringBuilder();
        text.append(conformance.summary()).append('\n');
        text.append("kit ").append(conformance.kit()).append(", harness level ").append(conformance.level());
        text.append("\ncapabilities ")
                .append(conformance.guarantees().capabilities().stream()
                        .sorted()
                        .toList());
        text.append("\n\n");
        for (Conformance.Verdict verdict : conformance.rules()) {
            text.append(String.format(
                    Locale.ROOT,
                    "%-5s %-9s %s%n",
                    verdict.rule().id(),
                    verdict.state().word(),
                    verdict.rule().text()));
            if (!verdict.reason().isEmpty()) {
                text.append("                  ")
                        .append(firstLine(verdict.reason()))
                        .append('\n');
            }
        }
        text.append(String.format(
                Locale.ROOT,
                "%n%-14s %10s %8s %10s %10s %10s%n",
                "bound",
                "declared",
                "times",
                "median",
                "p99",
                "max"));
        conformance.bounds().forEach(bound -> text.append(line(bound)));
        conformance
                .histories()
                .forEach(figures ->
                        text.append("history ").append(figures.line()).append('\n'));
        conformance.states().forEach(state -> text.append(line(state)));
        conformance
                .unproven()
                .forEach((rule, reason) -> text.append("unproven ")
                        .append(rule)
                        .append(": ")
                        .append(reason)
                        .append('\n'));
        conformance
                .untouched()
                .forEach(method -> text.append("untouched ").append(method).append('\n'));
        return text.toString();
    }

    private static String line(BoundReport bound) {
        return String.format(
                Locale.ROOT,
                "%-14s %10s %8d %10s %10s %10s %s%n",
                bound.bound().name().toLowerCase(Locale.ROOT),
                readable(bound.declared()),
                bound.count(),
                readable(bound.median()),
                readable(bound.p99()),
                readable(bound.max()),
                bound.remark());
    }

    private static String line(StateFigures state) {
        return String.format(
                Locale.ROOT,
                "sometimes %-24s %10d %s%n",
                state.state().name().toLowerCase(Locale.ROOT),
                state.reached(),
                state.isMissing() ? "never reached: what goes wrong there was not seen" : "");
    }

    private static String firstLine(String text) {
        return text.lines().findFirst().orElse("");
    }
}
