/**
 * Measures this library beside others, in one run, and watches that nobody cheats. The commands are here; {@code cells} has what is
 * measured, {@code contestants} who takes part, {@code servers} against which server, {@code run} how, {@code report} what is written.
 */
@NullMarked
package io.github.distributedsemaphore.benchmarks;

import org.jspecify.annotations.NullMarked;
