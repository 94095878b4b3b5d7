/** Methods of Spring beans that run under a permit: {@link io.github.distributedsemaphore.spring.WithPermit}. */
@NullMarked
package io.github.distributedsemaphore.spring;

import org.jspecify.annotations.NullMarked;
