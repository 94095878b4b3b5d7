package io.github.distributedsemaphore.spi;

import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.Set;

/**
 * Makes backends from URIs. Found by {@link java.util.ServiceLoader}: an adapter names its provider in {@code
 * META-INF/services} and in its {@code module-info}.
 */
public interface BackendProvider {
    /**
     * Returns the URI schemes that this provider serves.
     *
     * @return in lower case, such as {@code redis} and {@code rediss}
     */
    Set<String> schemes();

    /**
     * Makes a backend. No I/O but reading files that settings name, such as certificates: connections are made when they are
     * needed first.
     *
     * @param uri where to; the provider reads every parameter it knows, the client refuses those that nobody read
     * @param self what to store beside each hold, for {@code describe}
     * @return the backend
     * @throws IllegalArgumentException if a setting is out of range, naming the value and the bound
     */
    SemaphoreBackend open(BackendUri uri, HolderInfo self);
}
