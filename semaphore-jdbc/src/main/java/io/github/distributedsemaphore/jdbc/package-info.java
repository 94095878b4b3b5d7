/**
 * Semaphores in a SQL database: PostgreSQL first, H2 and MariaDB too. {@link
 * io.github.distributedsemaphore.jdbc.JdbcSemaphores} is for an application that has a connection pool.
 */
@NullMarked
package io.github.distributedsemaphore.jdbc;

import org.jspecify.annotations.NullMarked;
