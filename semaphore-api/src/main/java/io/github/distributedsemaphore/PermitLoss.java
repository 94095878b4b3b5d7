package io.github.distributedsemaphore;

/**
 * The news that a permit is no longer held although nobody released it.
 *
 * @param semaphoreName the name of the semaphore
 * @param slot the slot that the permit held
 * @param cause why, for a program
 * @param reason why, in a sentence for a log; holds no credentials
 */
public record PermitLoss(String semaphoreName, int slot, LossCause cause, String reason) {}
