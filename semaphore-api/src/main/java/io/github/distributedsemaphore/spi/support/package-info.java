/** What several adapters need: a backend for any store that can compare and set. */
@NullMarked
package io.github.distributedsemaphore.spi.support;

import org.jspecify.annotations.NullMarked;
