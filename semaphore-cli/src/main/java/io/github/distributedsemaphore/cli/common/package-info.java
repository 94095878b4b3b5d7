/** What all commands share: the backend that is chosen, exit codes, messages, tables and the terminal. */
@NullMarked
package io.github.distributedsemaphore.cli.common;

import org.jspecify.annotations.NullMarked;
