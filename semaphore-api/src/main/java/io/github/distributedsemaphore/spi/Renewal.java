package io.github.distributedsemaphore.spi;

import io.github.distributedsemaphore.Deadline;
import java.util.Set;

/**
 * What a renewal found. Holds that are in neither set are held.
 *
 * @param validUntil until when they are sure: counted from before the request was sent
 * @param lost holds that the backend does not count as held any more
 * @param retired holds whose slot was removed; they stay held
 */
public record Renewal(Deadline validUntil, Set<Hold> lost, Set<Hold> retired) {
    /**
     * Keeps unmodifiable copies.
     *
     * @param validUntil see the record
     * @param lost see the record
     * @param retired see the record
     */
    public Renewal {
        lost = Set.copyOf(lost);
        retired = Set.copyOf(retired);
    }
}
