/**
 * Connections to Redis servers, and batches of commands on them. All of Lettuce is here, and nothing here knows a slot. Not exported.
 */
@NullMarked
package io.github.distributedsemaphore.redis.net;

import org.jspecify.annotations.NullMarked;
