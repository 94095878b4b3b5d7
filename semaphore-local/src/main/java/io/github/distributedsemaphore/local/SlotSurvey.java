package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;

/** Finds out which slots are held by which process, under the semaphore's mutex, and changes nothing. */
final class SlotSurvey {
    private SlotSurvey() {}

    static SemaphoreDescription describe(String name, Path directory, int limit) throws IOException {
        List<Holder> holders = new ArrayList<>();
        NavigableSet<Integer> removed = SlotTable.filesAbove(directory, limit);
        try (SlotTable table = SlotTable.openAll(directory, limit)) {
            for (int slot = 1; slot <= limit; slot++) {
                addIfHeld(table, directory, slot, HolderState.HELD, holders);
            }
            int free = limit - holders.size();
            for (int slot : removed) {
                addIfHeld(table, directory, slot, HolderState.RETIRED, holders);
            }
            return new SemaphoreDescription(name, limit, free, holders);
        }
    }

    static int heldAbove(Path directory, int limit) throws IOException {
        int held = 0;
        try (SlotTable table = SlotTable.openAll(directory, limit)) {
            for (int slot : SlotTable.filesAbove(directory, limit)) {
                held += table.isHeld(slot) ? 1 : 0;
            }
        }
        return held;
    }

    private static void addIfHeld(SlotTable table, Path directory, int slot, HolderState state, List<Holder> holders)
            throws IOException {
        if (table.isHeld(slot)) {
            SlotRecord record = record(SlotFile.path(directory, slot), table.isOfThisProcess(slot))
                    .orElse(new SlotRecord(0, 0, 0, new HolderInfo("", 0, ""), Instant.EPOCH));
            holders.add(new Holder(
                    slot,
                    record.epoch(),
                    record.holder().host(),
                    record.holder().pid(),
                    record.holder().label(),
                    record.holder().pid() == 0 ? null : record.since(),
                    state));
        }
    }

    private static Optional<SlotRecord> record(Path path, boolean ofThisProcess) throws IOException {
        if (ofThisProcess) {
            // Never opened: closing it again would end the lock. What another class loader's client wrote stays
            // unknown.
            return LockTable.held(PrivateFiles.key(path)).flatMap(SlotFile::lastRecord);
        }
        try (RandomAccessFile file = PrivateFiles.openToRead(path)) {
            return SlotRecord.read(file);
        }
    }
}
