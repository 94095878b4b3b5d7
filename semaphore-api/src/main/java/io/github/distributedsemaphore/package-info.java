/**
 * A semaphore over processes and hosts: at most N holders of a name. Start at {@link
 * io.github.distributedsemaphore.SemaphoreClient}.
 */
@NullMarked
package io.github.distributedsemaphore;

import org.jspecify.annotations.NullMarked;
