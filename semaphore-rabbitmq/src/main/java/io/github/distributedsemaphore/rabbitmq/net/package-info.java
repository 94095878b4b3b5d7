/** Connections to brokers, and questions about queues on them, within the time of a call. Nothing here knows a slot. Not exported. */
@NullMarked
package io.github.distributedsemaphore.rabbitmq.net;

import org.jspecify.annotations.NullMarked;
