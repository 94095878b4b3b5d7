/** The adapter that docs/writing-an-adapter.md explains. */
@NullMarked
package io.github.distributedsemaphore.tck.example;

import org.jspecify.annotations.NullMarked;
