/** What is measured, what it is to reach, and what came out. */
@NullMarked
package io.github.distributedsemaphore.benchmarks.cells;

import org.jspecify.annotations.NullMarked;
