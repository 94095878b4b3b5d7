module example.consumer {
    requires io.github.distributedsemaphore.api;
}
