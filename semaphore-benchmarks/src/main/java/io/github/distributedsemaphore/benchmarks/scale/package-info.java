/** Many clients, and many names, at one server. */
@NullMarked
package io.github.distributedsemaphore.benchmarks.scale;

import org.jspecify.annotations.NullMarked;
