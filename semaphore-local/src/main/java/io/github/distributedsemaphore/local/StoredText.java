package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * The form of our small files: a first line that says what it is and in which version, then a line {@code key=value} for
 * each value. Unknown keys are passed over, so that a later version may add some.
 *
 * @param kind what it is, such as {@code limit}
 * @param version the version of its form
 * @param values the values by their keys
 */
record StoredText(String kind, int version, Map<String, ?> values) {
    private static final int MAX_SIZE = 4096;

    /** The highest number that is read: of 18 digits. */
    static final long HIGHEST_NUMBER = 999_999_999_999_999_999L;

    private static String title(String kind, int version) {
        return "distributed-semaphore " + kind + " " + version;
    }

    /** Replaces a file as a whole, so that it lasts. For one writer at a time. */
    void store(Path file, InterruptShield shield) throws IOException {
        replace(file);
        PrivateFiles.syncDirectory(Objects.requireNonNull(file.getParent()), shield);
    }

    /** Replaces a file as {@link PrivateFiles#replace} does. */
    void replace(Path file) throws IOException {
        StringBuilder text = new StringBuilder(title(kind, version)).append('\n');
        values.forEach(
                (key, value) -> text.append(key).append('=').append(value).append('\n'));
        PrivateFiles.replace(file, text.toString().getBytes(StandardCharsets.ISO_8859_1));
    }

    /**
     * Reads a file.
     *
     * @return empty if there is no such file
     * @throws IncompatibleStateException if it holds something else or was cut off
     */
    static Optional<StoredText> read(Path file, String kind, int version, String repair) throws IOException {
        String text;
        try (RandomAccessFile open = PrivateFiles.open(file, "r")) {
            byte[] bytes = new byte[MAX_SIZE];
            text = new String(bytes, 0, Math.max(0, open.read(bytes)), StandardCharsets.ISO_8859_1);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        String[] lines = text.split("\n", -1);
        Map<String, String> values = new LinkedHashMap<>();
        // The last line is empty if the one before it is complete.
        boolean sound = lines[0].equals(title(kind, version)) && lines[lines.length - 1].isEmpty();
        for (int i = 1; sound && i < lines.length - 1; i++) {
            int equals = lines[i].indexOf('=');
            sound = equals > 0;
            values.put(lines[i].substring(0, Math.max(0, equals)), lines[i].substring(equals + 1));
        }
        if (!sound) {
            throw incompatible(file, lines[0], kind, version, repair);
        }
        return Optional.of(new StoredText(kind, version, values));
    }

    /** Returns a whole number. */
    long number(Path file, String key, long least, long most, String repair) {
        String value = text(key);
        long number = value.matches("\\d{1,18}") ? Long.parseLong(value) : -1;
        if (number < least || number > most) {
            throw incompatible(file, key + "=" + value, kind, version, repair);
        }
        return number;
    }

    String text(String key) {
        Object value = values.get(key);
        return value == null ? "" : value.toString();
    }

    private static IncompatibleStateException incompatible(
            Path file, String found, String kind, int version, String repair) {
        String shown = (found.length() > 80 ? found.substring(0, 80) + "..." : found).replaceAll("[^\\x20-\\x7e]", "?");
        return new IncompatibleStateException(
                file + " says '" + shown + "', expected '" + title(kind, version) + "' and its values: " + repair,
                null);
    }
}
