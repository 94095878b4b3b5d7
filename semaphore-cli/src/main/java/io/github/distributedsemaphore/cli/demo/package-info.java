/**
 * The demonstration behind {@code ./quickstart}: worker processes share a few slots, one of them is killed, and what was
 * promised is checked against what the workers saw.
 */
@NullMarked
package io.github.distributedsemaphore.cli.demo;

import org.jspecify.annotations.NullMarked;
