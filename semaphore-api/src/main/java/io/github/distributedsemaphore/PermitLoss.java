package io.github.distributedsemaphore;

/**
 * The news that a permit is no longer held although nobody released it.
 *
 * @param semaphore the name of the semaphore
 * @param slot the slot that the permit held
 * @param reason why, in a sentence for a log; holds no credentials
 */
public record PermitLoss(String semaphore, int slot, String reason) {}
