/** Clients in other JVMs, which can be killed, stopped and resumed. */
@NullMarked
package io.github.distributedsemaphore.tck.agent;

import org.jspecify.annotations.NullMarked;
