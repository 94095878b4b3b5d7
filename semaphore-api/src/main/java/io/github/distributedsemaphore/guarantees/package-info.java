/**
 * What a backend promises: its capabilities, its bounds, and per fault the longest overlap of two holders. {@link
 * io.github.distributedsemaphore.SemaphoreClient#guarantees} answers without I/O. Over Redis, {@link
 * io.github.distributedsemaphore.guarantees.Capability#DURABLE_STATE} is known after the first call, such as {@code ping}.
 */
@NullMarked
package io.github.distributedsemaphore.guarantees;

import org.jspecify.annotations.NullMarked;
