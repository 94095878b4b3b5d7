/**
 * A backend in memory: what {@code memory:} opens, what the engine's seeded simulations and the kit's own tests run on, and
 * what the kit's wrong implementations are variants of. Its clock and its link can be replaced, so a test decides when time
 * passes and what the network does.
 */
@NullMarked
package io.github.distributedsemaphore.memory;

import org.jspecify.annotations.NullMarked;
