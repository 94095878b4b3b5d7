/**
 * The backend for Redis, 6.2 or newer: slots are members of sets, taken by optimistic transactions (WATCH, MULTI, EXEC)
 * and without scripts; a client lives by a deadline in the server's time.
 */
@NullMarked
package io.github.distributedsemaphore.redis;

import org.jspecify.annotations.NullMarked;
