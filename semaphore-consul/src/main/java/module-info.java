/** The backend for Consul: sessions and check-and-set, in the format of {@code consul lock}. */
// The Consul client and the HTTP client below it have no module descriptors; nothing of them is in our signatures.
@SuppressWarnings("requires-automatic")
module io.github.distributedsemaphore.consul {
    requires com.google.gson;
    requires consul.api;
    requires transitive io.github.distributedsemaphore.api;
    requires org.apache.httpcomponents.httpclient;
    requires org.apache.httpcomponents.httpcore;
    requires static org.jspecify;
    requires org.slf4j;

    exports io.github.distributedsemaphore.consul;

    provides io.github.distributedsemaphore.spi.BackendProvider with
            io.github.distributedsemaphore.consul.ConsulBackendProvider;
}
