/**
 * A backend in memory, for tests only: it drives the engine's seeded simulations and the kit's own tests, and the kit's
 * wrong implementations are variants of it. Its clock and its link can be replaced, so a test decides when time passes
 * and what the network does.
 */
@NullMarked
package io.github.distributedsemaphore.memory;

import org.jspecify.annotations.NullMarked;
