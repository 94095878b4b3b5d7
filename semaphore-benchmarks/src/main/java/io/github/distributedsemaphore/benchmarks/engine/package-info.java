/** Measures the engine alone, without a server. */
@NullMarked
package io.github.distributedsemaphore.benchmarks.engine;

import org.jspecify.annotations.NullMarked;
