package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Numbers the holders of a semaphore's slots, for one operation under its mutex.
 *
 * <p>A slot counts up from what its record says, within the block of epochs that the semaphore has drawn. The record is
 * not made lasting each time: that would cost a grant a write to the disk. It need not be, as it survives the death of
 * every process; only a crash of the machine can lose it, and that shows by another {@link BootId}. Then, as also when a
 * record is damaged or missing or the block is used up, the semaphore draws a new block, which is above all of old, and
 * makes that lasting.
 */
final class EpochSource {
    /** The longest run of epochs for one grant. */
    private static final int MAX_RUN = 1 << 16;

    private final StateDirectory state;
    private final Path directory;
    private final Call call;
    private LimitFile limit;

    EpochSource(StateDirectory state, Path directory, LimitFile limit, Call call) {
        this.state = state;
        this.directory = directory;
        this.limit = limit;
        this.call = call;
    }

    /**
     * Returns a slot's next run.
     *
     * @param wanted how many epochs
     * @return the record of the next holder as far as its epochs go
     */
    Run next(SlotFile file, int wanted) throws IOException {
        int count = Math.min(wanted, MAX_RUN);
        Optional<SlotRecord> last = file.record();
        if (last.isEmpty() || last.get().base() > limit.base() || !limit.boot().equals(BootId.CURRENT)) {
            drawBlock();
        }
        if (last.isPresent() && last.get().base() == limit.base()) {
            long first = Math.max(last.get().last() + 1, limit.base());
            if (first + count <= limit.base() + StateDirectory.BLOCK) {
                return new Run(limit.base(), first, first + count - 1);
            }
            drawBlock();
        }
        return new Run(limit.base(), limit.base(), limit.base() + count - 1);
    }

    private void drawBlock() throws IOException {
        // Waits for the disk, and for other semaphores.
        call.requireWaiting();
        limit = new LimitFile(limit.limit(), state.drawEpochs(call), BootId.CURRENT);
        limit.write(directory, call.shield());
    }

    /**
     * Epochs for one grant.
     *
     * @param base the block
     * @param first the first
     * @param last the last
     */
    record Run(long base, long first, long last) {}
}
