/** Meters and observations of semaphores, for Micrometer. */
// Micrometer names its modules in manifests only.
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module io.github.distributedsemaphore.micrometer {
    requires transitive io.github.distributedsemaphore.api;
    requires transitive micrometer.core;
    requires transitive micrometer.observation;
    requires org.slf4j;
    requires static org.jspecify;

    exports io.github.distributedsemaphore.micrometer;
}
