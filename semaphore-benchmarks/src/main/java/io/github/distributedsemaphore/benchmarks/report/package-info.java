/** Results as text, JSON and pictures. */
@NullMarked
package io.github.distributedsemaphore.benchmarks.report;

import org.jspecify.annotations.NullMarked;
