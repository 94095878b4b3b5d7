/**
 * The backend for RabbitMQ, after the specification of the persistent semaphore: slot {@code i} is a durable queue A[i]
 * and its hold an exclusive queue B[i], which vanishes with the connection that declared it.
 */
@NullMarked
package io.github.distributedsemaphore.rabbitmq;

import org.jspecify.annotations.NullMarked;
