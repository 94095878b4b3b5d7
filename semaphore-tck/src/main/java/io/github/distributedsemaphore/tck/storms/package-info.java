/** Rule 1.12: histories recorded while faults strike, and judged at their end. */
@NullMarked
package io.github.distributedsemaphore.tck.storms;

import org.jspecify.annotations.NullMarked;
