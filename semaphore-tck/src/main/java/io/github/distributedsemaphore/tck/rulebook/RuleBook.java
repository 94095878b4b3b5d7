package io.github.distributedsemaphore.tck.rulebook;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The rules of the kit, from the one list that also makes {@code docs/rules.md} and the report. Ids are never used again
 * for something else. Immutable.
 */
public final class RuleBook {
    /** How binding a rule is. */
    public enum Kind {
        /** Every adapter has to keep it. */
        REQUIRED,
        /** To be kept if declared; if not, its absence is shown. */
        CAPABILITY,
        /** A test may pass although the rule is broken, as it depends on chance. */
        STOCHASTIC,
        /** No machine can tell. */
        UNTESTABLE
    }

    /**
     * A rule.
     *
     * @param id such as {@code 2.2}
     * @param section the title of its section
     * @param text what is promised
     * @param kind how binding it is
     * @param needs capabilities and faults that it is about
     * @param level which level of harness shows it, from 0
     * @param untested why this version of the kit does not test it; empty if it does
     */
    public record Entry(
            String id,
            String section,
            String text,
            Kind kind,
            List<String> needs,
            int level,
            Optional<String> untested) {
        /**
         * Keeps an unmodifiable copy.
         *
         * @param id see the record
         * @param section see the record
         * @param text see the record
         * @param kind see the record
         * @param needs see the record
         * @param level see the record
         * @param untested see the record
         */
        public Entry {
            needs = List.copyOf(needs);
        }
    }

    private final Map<String, Entry> rules;

    private RuleBook(Map<String, Entry> rules) {
        this.rules = rules;
    }

    /**
     * Reads the rules of this version of the kit.
     *
     * @return the rules
     */
    public static RuleBook load() {
        try (InputStream in = RuleBook.class.getResourceAsStream("rules.json")) {
            if (in == null) {
                throw new IllegalStateException("rules.json is not beside " + RuleBook.class.getName());
            }
            return read(new InputStreamReader(in, StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Reads a rule book.
     *
     * @param json an array of rules, as in {@code rules.json}
     * @return the book
     * @throws IllegalStateException if a rule is there twice or lacks something
     */
    public static RuleBook read(Reader json) {
        Map<String, Entry> rules = new LinkedHashMap<>();
        for (JsonElement element : JsonParser.parseReader(json).getAsJsonArray()) {
            Entry entry = entry(element.getAsJsonObject());
            if (rules.put(entry.id(), entry) != null) {
                throw new IllegalStateException("rule " + entry.id() + " is there twice");
            }
        }
        return new RuleBook(rules);
    }

    private static Entry entry(JsonObject json) {
        List<String> needs = new ArrayList<>();
        json.getAsJsonArray("needs").forEach(need -> needs.add(need.getAsString()));
        return new Entry(
                json.get("id").getAsString(),
                json.get("section").getAsString(),
                json.get("text").getAsString(),
                Kind.valueOf(json.get("kind").getAsString()),
                needs,
                json.get("level").getAsInt(),
                Optional.ofNullable(json.get("untested")).map(JsonElement::getAsString));
    }

    /**
     * Returns the rules.
     *
     * @return by id, in the order of the book; unmodifiable
     */
    public Map<String, Entry> rules() {
        return java.util.Collections.unmodifiableMap(rules);
    }
}
