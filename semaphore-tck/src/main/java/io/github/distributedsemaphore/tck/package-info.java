/**
 * The compatibility kit: an adapter author describes a backend in a fixture, extends the contracts, and learns from their
 * failures which promise of the API the adapter breaks.
 */
@NullMarked
package io.github.distributedsemaphore.tck;

import org.jspecify.annotations.NullMarked;
