/**
 * Clusters of servers on hosts of their own, which can be cut off from each other and from their clients, and what histories
 * recorded meanwhile show.
 */
@NullMarked
package io.github.distributedsemaphore.tck.cluster;

import org.jspecify.annotations.NullMarked;
