/** The contract of the driven port, asked of an adapter without the engine. */
@NullMarked
package io.github.distributedsemaphore.tck.session;

import org.jspecify.annotations.NullMarked;
