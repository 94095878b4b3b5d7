/** The ways to take permits that are measured beside each other: this library, others, and bare requests. */
@NullMarked
package io.github.distributedsemaphore.benchmarks.contestants;

import org.jspecify.annotations.NullMarked;
