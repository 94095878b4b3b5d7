/** The rules of the kit, and the bounds that adapters declare and the kit measures. */
@NullMarked
package io.github.distributedsemaphore.tck.rulebook;

import org.jspecify.annotations.NullMarked;
