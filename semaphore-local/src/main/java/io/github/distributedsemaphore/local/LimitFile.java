package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
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

    private static final int VERSION = 1;
    private static final String REPAIR = "put back the file, or destroy the semaphore";

    /**
     * Reads it.
     *
     * @return empty if there is no such semaphore
     * @throws io.github.distributedsemaphore.IncompatibleStateException if there is something else
     */
    static Optional<LimitFile> read(Path directory) throws IOException {
        Path file = directory.resolve(NAME);
        return StoredText.read(file, NAME, VERSION, REPAIR)
                .map(text -> new LimitFile(
                        (int) text.number(file, "limit", 1, SlotTable.MAX_SLOTS, REPAIR),
                        text.number(file, "epochs", 0, Long.MAX_VALUE, REPAIR),
                        text.text("boot")));
    }

    /** Stores it so that it lasts. */
    void write(Path directory, InterruptShield shield) throws IOException {
        replace(directory);
        PrivateFiles.syncDirectory(directory, shield);
    }

    /** Stores it as {@link PrivateFiles#replace} does. */
    void replace(Path directory) throws IOException {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("limit", limit);
        values.put("epochs", base);
        values.put("boot", boot);
        new StoredText(NAME, VERSION, values).replace(directory.resolve(NAME));
    }
}
