/**
 * The backend for one machine and no server: a file for each slot and an operating-system lock for each hold, so that a
 * hold vanishes with the process that had it.
 */
@NullMarked
package io.github.distributedsemaphore.local;

import org.jspecify.annotations.NullMarked;
