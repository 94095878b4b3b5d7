package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.Hold;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Numbers the holders of a semaphore's slots, for one operation under its mutex.
 *
 * <p>A slot counts up from what its entry in the table says, within the block of epochs that the semaphore has drawn. The entry is
 * not made lasting each time: that would cost a grant a write to the disk. It need not be, as it survives the death of
 * every process; only a crash of the machine can lose it, and that shows by another {@link #BOOT}. Then, as also when an
 * entry is damaged or missing or the block is used up, the semaphore draws a new block, which is above all of old, and
 * makes that lasting.
 */
final class EpochSource {
    /** Linux's number for this run of the kernel; empty where there is none, and then each grant is made lasting. */
    static final String BOOT = boot();

    /** The longest run of epochs for one grant. */
    private static final int MAX_RUN = 1 << 16;

    private final StateDirectory state;
    private final Path directory;
    private final Call call;
    private LimitFile limit;
    private boolean drawn;

    EpochSource(StateDirectory state, Path directory, LimitFile limit, Call call) {
        this.state = state;
        this.directory = directory;
        this.limit = limit;
        this.call = call;
    }

    private static String boot() {
        try {
            String id =
                    Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
            return id.matches("[0-9a-f-]{36}") ? id : "";
        } catch (IOException e) {
            return "";
        }
    }

    /**
     * Returns a slot's next run of epochs.
     *
     * @param last the last epoch of its last holder, or {@link SlotTable#UNKNOWN}
     * @param wanted how many epochs
     */
    Hold next(int slot, long last, int wanted) throws IOException {
        int count = Math.min(wanted, MAX_RUN);
        if (last == SlotTable.UNKNOWN || last >= end() || !limit.boot().equals(BOOT)) {
            drawBlock();
        }
        long first = Math.max(last + 1, limit.base());
        if (first + count > end()) {
            drawBlock();
            first = limit.base();
        }
        return new Hold(slot, first, first + count - 1);
    }

    private long end() {
        return limit.base() + StateDirectory.BLOCK;
    }

    /** Draws once for the whole operation: that block is above what any slot has had, and longer than what the slots can want. */
    private void drawBlock() throws IOException {
        if (drawn) {
            return;
        }
        // Waits for the disk, and for other semaphores.
        call.requireWaiting();
        limit = new LimitFile(limit.limit(), state.drawEpochs(call), BOOT);
        limit.write(directory, call.shield());
        drawn = true;
    }
}
