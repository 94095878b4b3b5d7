/** The command that runs the compatibility kit over a user's own server. */
@NullMarked
package io.github.distributedsemaphore.cli.tck;

import org.jspecify.annotations.NullMarked;
