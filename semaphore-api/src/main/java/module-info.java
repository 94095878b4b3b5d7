/** The ports of the distributed semaphore and the engine that all backends share. */
@SuppressWarnings("module") // the test double is compiled after this module
module io.github.distributedsemaphore.api {
    requires static com.google.errorprone.annotations;
    requires static transitive org.jspecify;
    requires org.slf4j;

    exports io.github.distributedsemaphore;
    exports io.github.distributedsemaphore.guarantees;
    exports io.github.distributedsemaphore.spi;
    exports io.github.distributedsemaphore.internal to
            io.github.distributedsemaphore.test;
    exports io.github.distributedsemaphore.spi.support;

    uses io.github.distributedsemaphore.spi.BackendProvider;
}
