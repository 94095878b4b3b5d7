/** A backend in memory for the tests of applications. */
module io.github.distributedsemaphore.test {
    requires transitive io.github.distributedsemaphore.api;
    requires static org.jspecify;
    requires static transitive org.junit.jupiter.api;
    requires org.slf4j;

    exports io.github.distributedsemaphore.test;

    provides io.github.distributedsemaphore.spi.BackendProvider with
            io.github.distributedsemaphore.memory.MemoryProvider;
}
