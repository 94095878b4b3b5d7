/** The command that runs a program under a permit, and ends it when the permit is lost. */
@NullMarked
package io.github.distributedsemaphore.cli.run;

import org.jspecify.annotations.NullMarked;
