/** Permits for Reactor: work that a {@code Mono} or a {@code Flux} describes runs while a permit is held. */
@NullMarked
package io.github.distributedsemaphore.reactor;

import org.jspecify.annotations.NullMarked;
