/** One run of the kit: its settings, what its tests share, and what is looked for after each test. */
@NullMarked
package io.github.distributedsemaphore.tck.run;

import org.jspecify.annotations.NullMarked;
