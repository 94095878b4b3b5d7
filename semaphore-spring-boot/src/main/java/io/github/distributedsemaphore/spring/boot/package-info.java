/**
 * What Spring Boot applications of all supported versions share: properties, the client, its shutdown, health and endpoint. The starters bring
 * it.
 */
@NullMarked
package io.github.distributedsemaphore.spring.boot;

import org.jspecify.annotations.NullMarked;
