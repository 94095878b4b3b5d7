/** The servers under measurement, started for a run and ended with it. */
@NullMarked
package io.github.distributedsemaphore.benchmarks.servers;

import org.jspecify.annotations.NullMarked;
