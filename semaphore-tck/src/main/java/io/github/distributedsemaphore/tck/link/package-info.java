/** Connections that can be disturbed: a proxy between a client and its server, on the loopback address. */
@NullMarked
package io.github.distributedsemaphore.tck.link;

import org.jspecify.annotations.NullMarked;
