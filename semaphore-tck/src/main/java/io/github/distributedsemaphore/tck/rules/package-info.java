/** The rules about a semaphore whose backend works, a class for each section or part of one. */
@NullMarked
package io.github.distributedsemaphore.tck.rules;

import org.jspecify.annotations.NullMarked;
