package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.Set;

/**
 * Semaphores in Consul, {@code consul://host:port}, shared with {@code consul lock -n} and every program on its Go API: a
 * semaphore {@code a/b} is what {@code consul lock -n 3 a/b} uses.
 *
 * <p>The algorithm is that of HashiCorp's semaphore guide, the stored form that of its Go client ({@code
 * api/semaphore.go}). Each held slot has a Consul session with a time to live of half the detection bound, since Consul ends
 * a session after twice that time; a permit is valid for once that time after its last renewal.
 *
 * <p>Settings: {@code detection} (22s to 1h, by default 30s), within which the slot of a dead holder is free; {@code
 * timeout} (1s to 1m, by default 5s), the longest time for one call with all its requests; {@code prefix}, a key below which
 * all semaphores are, by default none; {@code token}, an ACL token, which is sent in a header only; {@code dc}, the datacenter, by
 * default the agent's; {@code node}, the node of Consul's catalog that the sessions belong to and end with, by default the
 * agent's own; {@code grace} (0s to 1h, by default none), after which time a watch that fails ends the permits, as the guide
 * asks for, by default not before they could not be renewed. Opening does not connect.
 *
 * <p>{@code consul+https://host:port} encrypts. There {@code ca} names a file of certificates in PEM that sign the agent's,
 * by default the ones the JVM trusts; {@code certificate} and {@code key} name the client's own certificate and its key in PEM,
 * where the agent asks for one.
 *
 * <p>Thread-safe.
 */
public final class ConsulBackendProvider implements BackendProvider {
    /** Creates it, for {@link java.util.ServiceLoader}. */
    public ConsulBackendProvider() {}

    @Override
    public Set<String> schemes() {
        return Set.of("consul", ConsulSettings.TLS_SCHEME);
    }

    @Override
    public SemaphoreBackend open(BackendUri uri, HolderInfo self) {
        return new ConsulBackend(ConsulSettings.from(uri, self));
    }
}
