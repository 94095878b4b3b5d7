/** Lets the mutation tester PIT run the kit: see {@code ./verify mutants}. */
@NullMarked
package io.github.distributedsemaphore.tck.mutants;

import org.jspecify.annotations.NullMarked;
