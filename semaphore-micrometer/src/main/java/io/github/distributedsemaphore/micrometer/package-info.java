/**
 * For Micrometer: {@link io.github.distributedsemaphore.micrometer.SemaphoreMetrics} are the meters of a client, {@link
 * io.github.distributedsemaphore.micrometer.ObservedSemaphore} observes the waits at one semaphore.
 */
@NullMarked
package io.github.distributedsemaphore.micrometer;

import org.jspecify.annotations.NullMarked;
