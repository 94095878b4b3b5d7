package io.github.distributedsemaphore.redis.worklock;

import io.lettuce.core.RedisURI;
import java.net.URI;

/** Addresses of servers. */
final class WorkLockUri {
    private static final String FORM = "redis://[user:password@]host[:port][/database]";

    private WorkLockUri() {}

    static RedisURI parse(String uri) {
        if (!uri.startsWith("redis://") && !uri.startsWith("rediss://")) {
            String scheme = uri.contains("://") ? uri.substring(0, uri.indexOf("://")) : "none";
            throw new IllegalArgumentException(
                    "The scheme of the address is '" + scheme + "', it must be redis or rediss: write " + FORM);
        }
        try {
            // Lettuce makes a host of what it cannot take apart.
            if (URI.create(uri).getHost() != null) {
                return RedisURI.create(uri);
            }
        } catch (IllegalArgumentException e) {
            // The message may show the password, so neither it nor the cause goes further.
        }
        throw new IllegalArgumentException("The address cannot be read: write " + FORM);
    }
}
