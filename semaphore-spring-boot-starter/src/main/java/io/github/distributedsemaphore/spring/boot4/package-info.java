/** The parts of the starter that belong to Spring Boot 4: connection details and health. */
@NullMarked
package io.github.distributedsemaphore.spring.boot4;

import org.jspecify.annotations.NullMarked;
