/** Implementations that are wrong on purpose: each breaks one rule, and the kit has to say which. */
@NullMarked
package io.github.distributedsemaphore.tck.broken;

import org.jspecify.annotations.NullMarked;
