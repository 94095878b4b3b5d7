/** Mistakes planted in the real sources of engine and adapters, to see that the kit finds them. */
@NullMarked
package io.github.distributedsemaphore.tck.planted;

import org.jspecify.annotations.NullMarked;
