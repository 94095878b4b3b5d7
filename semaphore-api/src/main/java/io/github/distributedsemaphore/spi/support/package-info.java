/** What adapters share: settings, TLS, durations, calls that an interrupt must not end, and a backend for any store that can compare and set. */
@NullMarked
package io.github.distributedsemaphore.spi.support;

import org.jspecify.annotations.NullMarked;
