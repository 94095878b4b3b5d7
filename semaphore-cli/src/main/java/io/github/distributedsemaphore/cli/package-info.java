/**
 * The semaphore command: a thin shell over the API, for administrators and for scripts that run under a permit.
 */
@NullMarked
package io.github.distributedsemaphore.cli;

import org.jspecify.annotations.NullMarked;
