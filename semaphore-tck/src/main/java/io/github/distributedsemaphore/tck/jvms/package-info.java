/** Several JVMs that run the sections of one test class side by side: the one that JUnit was started in, and the others. */
@NullMarked
package io.github.distributedsemaphore.tck.jvms;

import org.jspecify.annotations.NullMarked;
