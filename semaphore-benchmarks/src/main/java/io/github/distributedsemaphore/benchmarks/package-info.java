/** Measures this library beside others, in one run, and watches that nobody cheats. */
@NullMarked
package io.github.distributedsemaphore.benchmarks;

import org.jspecify.annotations.NullMarked;
