package io.github.distributedsemaphore;

import java.util.List;

/**
 * What a backend knows about a semaphore at a moment.
 *
 * @param name the name
 * @param limit how many slots it has
 * @param free how many of them can be taken now
 * @param holders a row per held slot in ascending order, those of removed slots included; over Consul also each holder of Consul's
 *     own command, as slot 0
 */
public record SemaphoreDescription(String name, int limit, int free, List<Holder> holders) {
    /**
     * Keeps an unmodifiable copy of the holders.
     *
     * @param name the name
     * @param limit how many slots it has
     * @param free how many of them can be taken now
     * @param holders a row per held slot
     */
    public SemaphoreDescription {
        holders = List.copyOf(holders);
    }
}
