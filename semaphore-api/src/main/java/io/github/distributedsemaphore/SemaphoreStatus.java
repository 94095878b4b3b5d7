package io.github.distributedsemaphore;

/**
 * How full a semaphore is at a moment.
 *
 * @param name the name
 * @param limit how many slots it has
 * @param free how many of them can be taken now
 */
public record SemaphoreStatus(String name, int limit, int free) {}
