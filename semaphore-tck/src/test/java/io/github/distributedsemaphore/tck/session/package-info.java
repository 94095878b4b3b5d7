/** The contract of the driven port over the backend in memory, right and wrong. */
@NullMarked
package io.github.distributedsemaphore.tck.session;

import org.jspecify.annotations.NullMarked;
