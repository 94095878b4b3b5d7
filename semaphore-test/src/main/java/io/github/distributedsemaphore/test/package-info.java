/**
 * For the tests of applications: a backend in memory, a clock that the test advances, and faults by name. {@link
 * io.github.distributedsemaphore.test.TestSemaphores} is where to begin.
 */
@NullMarked
package io.github.distributedsemaphore.test;

import org.jspecify.annotations.NullMarked;
