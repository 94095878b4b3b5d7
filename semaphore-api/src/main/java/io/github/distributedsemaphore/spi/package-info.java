/**
 * The driven port: what a backend must do. An adapter implements {@link
 * io.github.distributedsemaphore.spi.SemaphoreBackend}, {@link io.github.distributedsemaphore.spi.BackendSession} and {@link
 * io.github.distributedsemaphore.spi.BackendAdmin}, and is found through {@link
 * io.github.distributedsemaphore.spi.BackendProvider}.
 *
 * <p>The life of a session as its engine drives it: {@code open}; {@code exchange} whenever threads of the client acquire
 * or release, the requests of all of them in one; {@code watch} while somebody waits; {@code renew} at intervals while
 * something is held; {@code close} when the client closes. An adapter that passes the compatibility kit is an adapter.
 */
@NullMarked
package io.github.distributedsemaphore.spi;

import org.jspecify.annotations.NullMarked;
