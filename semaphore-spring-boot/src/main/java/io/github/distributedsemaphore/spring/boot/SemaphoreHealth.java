package io.github.distributedsemaphore.spring.boot;

import io.github.distributedsemaphore.SemaphoreClient;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** Asks the backend whether it is there. The starters put it into the health indicator of their version of Spring Boot. Thread-safe. */
public final class SemaphoreHealth {
    private final SemaphoreClient client;
    private final SemaphoreActivity activity;
    private final Duration longest;

    SemaphoreHealth(SemaphoreClient client, SemaphoreActivity activity, Duration longest) {
        this.client = client;
        this.activity = activity;
        this.longest = longest;
    }

    /**
     * Asks the backend by {@link SemaphoreClient#ping}, and blocks for at most 100 ms longer than the property {@code
     * distributed-semaphore.health.timeout}, by default 2 s.
     *
     * @return what is known about the client, if the backend answered
     * @throws InterruptedException if the thread is interrupted
     * @throws io.github.distributedsemaphore.SemaphoreException if it is not well, as {@code ping}
     */
    public Map<String, Object> check() throws InterruptedException {
        long start = System.nanoTime();
        client.ping(longest);
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("backend", client.guarantees().backend());
        details.put(
                "answeredInMillis", Duration.ofNanos(System.nanoTime() - start).toMillis());
        activity.held(client).ifPresent(held -> details.put("held", held));
        return details;
    }
}
