package io.github.distributedsemaphore.benchmarks.contestants;

/**
 * A permit under measurement.
 *
 * @param slot which place it is, from 1; 0 where there are no places
 * @param epoch its number among the permits of this place
 * @param giveBack releases it
 */
public record Pass(int slot, long epoch, Runnable giveBack) {
    public static Pass withoutSlot(Runnable giveBack) {
        return new Pass(0, 0, giveBack);
    }
}
