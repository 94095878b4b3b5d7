/**
 * The backend for one machine and no server: a table of slots for each semaphore, and an operating-system lock for each
 * client that holds some, so that its holds vanish with its process.
 */
@NullMarked
package io.github.distributedsemaphore.local;

import org.jspecify.annotations.NullMarked;
