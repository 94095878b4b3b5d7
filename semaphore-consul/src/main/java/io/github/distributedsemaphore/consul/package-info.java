/**
 * Semaphores in Consul: a session and a contender entry per held slot, and one coordination key that is changed by
 * check-and-set, in the format that {@code consul lock -n} reads and writes.
 */
@NullMarked
package io.github.distributedsemaphore.consul;

import org.jspecify.annotations.NullMarked;
