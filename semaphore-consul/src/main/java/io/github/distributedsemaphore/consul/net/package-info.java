/** Requests to an agent, within their deadlines. Nothing here knows a slot. Not exported. */
@NullMarked
package io.github.distributedsemaphore.consul.net;

import org.jspecify.annotations.NullMarked;
