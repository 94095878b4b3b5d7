/** What adapters share: reading settings, writing durations, and calls that an interrupt must not end. */
@NullMarked
package io.github.distributedsemaphore.spi.support;

import org.jspecify.annotations.NullMarked;
