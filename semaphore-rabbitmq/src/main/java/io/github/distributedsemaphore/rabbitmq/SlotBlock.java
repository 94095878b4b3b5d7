package io.github.distributedsemaphore.rabbitmq;

import java.util.List;
import java.util.stream.IntStream;

/**
 * A run of slots whose holders are counted together, see {@link HolderCount}. Blocks begin after each multiple of {@link
 * #SIZE}; the last one of a semaphore ends at its limit, so that the last slot tells the first.
 *
 * @param first its first slot
 * @param last its last slot
 */
record SlotBlock(int first, int last) {
    /** Part of the stored format: the name of a count queue tells only the last slot. */
    static final int SIZE = 128;

    /** The block of a slot while the limit is so much. */
    static SlotBlock of(int slot, int limit) {
        int first = (slot - 1) / SIZE * SIZE + 1;
        return new SlotBlock(first, Math.min(limit, first + SIZE - 1));
    }

    /** All blocks while the limit is so much. */
    static List<SlotBlock> upTo(int limit) {
        return IntStream.iterate(1, first -> first <= limit, first -> first + SIZE)
                .mapToObj(first -> of(first, limit))
                .toList();
    }

    int size() {
        return last - first + 1;
    }
}
