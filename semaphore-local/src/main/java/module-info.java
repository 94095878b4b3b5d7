/** The backend for one machine and no server: slots are files, holds are operating-system file locks. */
module io.github.distributedsemaphore.local {
    requires transitive io.github.distributedsemaphore.api;
    requires static org.jspecify;
    requires org.slf4j;

    exports io.github.distributedsemaphore.local;

    provides io.github.distributedsemaphore.spi.BackendProvider with
            io.github.distributedsemaphore.local.LocalBackendProvider;
}
