/** What the author of an adapter writes so that the kit can test it, and what helps to write it. */
@NullMarked
package io.github.distributedsemaphore.tck.harness;

import org.jspecify.annotations.NullMarked;
