/** What a run of the kit found, written down. */
@NullMarked
package io.github.distributedsemaphore.tck.report;

import org.jspecify.annotations.NullMarked;
