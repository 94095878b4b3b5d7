/** The engine that all backends share. Not for use by applications or adapters: it may change in any release. */
@NullMarked
package io.github.distributedsemaphore.internal;

import org.jspecify.annotations.NullMarked;
