/** The backend for one machine and no server: a table of slots for each semaphore, and an operating-system lock for each client. */
module io.github.distributedsemaphore.local {
    requires transitive io.github.distributedsemaphore.api;
    requires static org.jspecify;
    requires org.slf4j;

    exports io.github.distributedsemaphore.local;

    provides io.github.distributedsemaphore.spi.BackendProvider with
            io.github.distributedsemaphore.local.LocalBackendProvider;
}
