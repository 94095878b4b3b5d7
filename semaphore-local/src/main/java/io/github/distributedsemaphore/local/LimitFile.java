package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What is stored about a semaphore as a whole. The semaphore exists if and only if this file does; it is only ever
 * replaced as a whole.
 *
 * @param limit how many slots
 * @param base the first epoch of the block that its slots take their epochs from
 * @param boot the run of the machine's kernel in which that block was drawn; empty if the machine does not tell
 */
record LimitFile(int limit, long base, String boot) {
    static final String NAME = "limit";

    private static final String KIND = "limit";
    private static final int VERSION = 1;
    private static final int MAX_SIZE = 4096;

    /**
     * Reads it.
     *
     * @return empty if there is no such semaphore
     * @throws io.github.distributedsemaphore.IncompatibleStateException if there is something else
     */
    static Optional<LimitFile> read(Path directory) throws IOException {
        Path file = directory.resolve(NAME);
        String text;
        try {
            text = content(file);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
        Optional<LimitFile> stored = StoredText.read(KIND, VERSION, text).flatMap(LimitFile::from);
        if (stored.isEmpty()) {
            throw StoredText.incompatible(file, KIND, VERSION, text, "put back the file, or destroy the semaphore");
        }
        return stored;
    }

    private static String content(Path file) throws IOException {
        try {
            return Files.size(file) > MAX_SIZE ? "" : Files.readString(file, StandardCharsets.ISO_8859_1);
        } catch (NoSuchFileException e) {
            throw e;
        } catch (IOException e) {
            if (Files.isDirectory(file)) {
                return "a directory";
            }
            throw e;
        }
    }

    private static Optional<LimitFile> from(StoredText text) {
        long limit = text.number("limit");
        long base = text.number("epochs");
        return limit < 1 || limit > LocalBackend.MAX_PERMITS || base < 0
                ? Optional.empty()
                : Optional.of(new LimitFile((int) limit, base, text.text("boot")));
    }

    /** Stores it so that it lasts. */
    void write(Path directory, InterruptShield shield) throws IOException {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("limit", limit);
        values.put("epochs", base);
        values.put("boot", boot);
        String text = StoredText.write(KIND, VERSION, values);
        PrivateFiles.replace(directory.resolve(NAME), text.getBytes(StandardCharsets.ISO_8859_1), shield);
    }
}
