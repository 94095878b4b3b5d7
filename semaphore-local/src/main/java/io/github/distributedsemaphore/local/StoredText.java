package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.IncompatibleStateException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The form of our small files: a first line that says what it is and in which version, then a line {@code key=value} for
 * each value. Unknown keys are passed over, so that a later version may add some.
 *
 * @param values the values by their keys
 */
record StoredText(Map<String, String> values) {
    private static final String TITLE = "distributed-semaphore ";

    static String write(String kind, int version, Map<String, ?> values) {
        StringBuilder text = new StringBuilder(TITLE + kind + " " + version + "\n");
        values.forEach(
                (key, value) -> text.append(key).append('=').append(value).append('\n'));
        return text.toString();
    }

    /** Reads a file's text; empty if it is of another kind or cut off. */
    static Optional<StoredText> read(String kind, int version, String text) {
        if (!text.startsWith(TITLE + kind + " " + version + "\n") || !text.endsWith("\n")) {
            return Optional.empty();
        }
        Map<String, String> values = new LinkedHashMap<>();
        String[] lines = text.split("\n");
        for (int i = 1; i < lines.length; i++) {
            int equals = lines[i].indexOf('=');
            if (equals < 1) {
                return Optional.empty();
            }
            values.put(lines[i].substring(0, equals), lines[i].substring(equals + 1));
        }
        return Optional.of(new StoredText(values));
    }

    /** Returns a whole number; -1 if it is not there or none that fits. */
    long number(String key) {
        String value = values.getOrDefault(key, "");
        return value.matches("\\d{1,18}") ? Long.parseLong(value) : -1;
    }

    String text(String key) {
        return values.getOrDefault(key, "");
    }

    static IncompatibleStateException incompatible(Path file, String kind, int version, String text, String repair) {
        String line = text.lines().findFirst().orElse("nothing");
        String found = line.length() > 80 ? line.substring(0, 80) + "..." : line;
        String printable = found.replaceAll("[^\\x20-\\x7e]", "?");
        return new IncompatibleStateException(
                file + " begins with '" + printable + "', expected '" + TITLE + kind + " " + version
                        + "' and its values: " + repair,
                null);
    }
}
