/** The rules about links that fail, servers that stop and processes that die. */
@NullMarked
package io.github.distributedsemaphore.tck.faults;

import org.jspecify.annotations.NullMarked;
