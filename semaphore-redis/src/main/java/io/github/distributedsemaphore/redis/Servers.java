package io.github.distributedsemaphore.redis;

import java.util.concurrent.CompletableFuture;

/** Which of the servers that a URI means has the keys of a semaphore. Thread-safe; nothing here blocks. */
interface Servers {
    /** The server that has a key, which may be any of the keys of a semaphore. */
    CompletableFuture<HostAndPort> serverOf(String key);

    /** This server could not be reached: what is known of it is forgotten, and asked anew. */
    void forget(HostAndPort server);

    /**
     * Tells whether an error means that another server is to be asked, and remembers what it says about which.
     *
     * @param error what a server answered
     * @param from which one
     */
    boolean isElsewhere(String error, HostAndPort from);

    /** Whether the server has to be the master, which a server that is asked for the first time says. */
    boolean areReplicated();

    /** A server that stands alone. */
    record Single(HostAndPort server) implements Servers {
        @Override
        public CompletableFuture<HostAndPort> serverOf(String key) {
            return CompletableFuture.completedFuture(server);
        }

        @Override
        public void forget(HostAndPort unreachable) {
            // There is no other.
        }

        @Override
        public boolean isElsewhere(String error, HostAndPort from) {
            return false;
        }

        @Override
        public boolean areReplicated() {
            return false;
        }
    }
}
