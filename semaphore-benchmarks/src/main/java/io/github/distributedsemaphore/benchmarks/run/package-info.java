/** Measures a cell: worker processes, rounds, and the watch that counts who is inside. */
@NullMarked
package io.github.distributedsemaphore.benchmarks.run;

import org.jspecify.annotations.NullMarked;
