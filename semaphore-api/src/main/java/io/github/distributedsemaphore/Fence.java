package io.github.distributedsemaphore;

/**
 * What a guarded resource compares in order to refuse a holder that has lost its permit.
 *
 * <p>Holders of one slot follow one another, and the epochs of a slot strictly rise over its successive permits. A
 * resource that keeps the highest epoch it has seen <em>per slot</em>, and refuses a lower one, cannot be written by a
 * former holder once the present one has written. One number for the whole semaphore could not do that, as several
 * holders are entitled at the same time.
 *
 * @param slot the slot, from 1
 * @param epoch the epoch of this permit in that slot, not negative; gaps are normal
 */
public record Fence(int slot, long epoch) {
    @Override
    public String toString() {
        return slot + "@" + epoch;
    }
}
