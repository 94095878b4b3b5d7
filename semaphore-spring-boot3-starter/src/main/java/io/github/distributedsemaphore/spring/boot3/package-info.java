/** The parts of the starter that belong to Spring Boot 3.5: connection details and health. */
@NullMarked
package io.github.distributedsemaphore.spring.boot3;

import org.jspecify.annotations.NullMarked;
