/** Histories of what holders did, and the checks that find a violation in them. */
@NullMarked
package io.github.distributedsemaphore.tck.history;

import org.jspecify.annotations.NullMarked;
