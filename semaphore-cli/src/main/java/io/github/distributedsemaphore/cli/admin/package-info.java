/** The commands for administrators: create, resize, destroy, status and guarantees. */
@NullMarked
package io.github.distributedsemaphore.cli.admin;

import org.jspecify.annotations.NullMarked;
