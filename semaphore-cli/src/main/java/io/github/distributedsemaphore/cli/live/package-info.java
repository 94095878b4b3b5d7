/**
 * What happens at the semaphores of a backend, for people that watch: {@code list}, {@code top} and {@code ui}. One class asks
 * the backend, {@link io.github.distributedsemaphore.cli.live.Readings}; the others show what it found.
 */
@NullMarked
package io.github.distributedsemaphore.cli.live;

import org.jspecify.annotations.NullMarked;
