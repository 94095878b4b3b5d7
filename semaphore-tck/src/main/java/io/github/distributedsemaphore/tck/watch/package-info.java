/** Those who watch while a test runs: who holds, who waits, what a permit says, and whether the machine stood still. */
@NullMarked
package io.github.distributedsemaphore.tck.watch;

import org.jspecify.annotations.NullMarked;
