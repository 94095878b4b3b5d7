/**
 * A work lock in Redis, 6.2 or newer: of all processes that hear of a job one does it, and if that one dies another takes
 * over, for a counted number of attempts. The key and its values are those of the Node package {@code
 * redis-locking-worker}, so that workers in Java and in Node can share a job; {@code docs/backends/redis-work-lock.md} has
 * the protocol, what it promises, and where this one differs.
 */
@NullMarked
package io.github.distributedsemaphore.redis.worklock;

import org.jspecify.annotations.NullMarked;
