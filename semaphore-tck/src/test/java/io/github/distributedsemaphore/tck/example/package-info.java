/** The adapters that docs/writing-an-adapter.md and docs/writing-an-adapter-over-a-network.md explain. */
@NullMarked
package io.github.distributedsemaphore.tck.example;

import org.jspecify.annotations.NullMarked;
