package io.github.distributedsemaphore.spring.boot;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreStatistics;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;

/** The endpoint {@code semaphores}. It may resize a semaphore only where an application gives it unrestricted access. Thread-safe. */
@Endpoint(id = "semaphores", defaultAccess = Access.READ_ONLY)
public final class SemaphoresEndpoint {
    private final SemaphoreClient client;
    private final SemaphoreActivity activity;

    SemaphoresEndpoint(SemaphoreClient client, SemaphoreActivity activity) {
        this.client = client;
        this.activity = activity;
    }

    /**
     * Lists what this application does at its semaphores by its only or primary client. No I/O.
     *
     * @return statistics by name, of those that it configured and of the first hundred that it used
     */
    @ReadOperation
    public Map<String, Map<String, Object>> semaphores() {
        Map<String, Map<String, Object>> all = new LinkedHashMap<>();
        for (String name : activity.names(client)) {
            all.put(name, shown(client.semaphore(name).statistics()));
        }
        return all;
    }

    /**
     * Shows a semaphore and its holders on all hosts. Asks the backend, and blocks for a few round trips.
     *
     * @param name its name
     * @return null if there is none
     */
    @ReadOperation
    public @Nullable Map<String, Object> semaphore(@Selector String name) {
        return client.admin().describe(name).map(SemaphoresEndpoint::shown).orElse(null);
    }

    /**
     * Changes the limit of a semaphore. Asks the backend, and blocks for a few round trips.
     *
     * @param name its name
     * @param limit how many permits it has from now on, at least 1
     */
    @WriteOperation
    public void resize(@Selector String name, int limit) {
        client.admin().resize(name, limit);
    }

    private static Map<String, Object> shown(SemaphoreStatistics statistics) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("held", statistics.held());
        shown.put("waiting", statistics.waiting());
        shown.put("granted", statistics.grantedByBackend() + statistics.grantedByHandOff());
        shown.put("refused", statistics.refused());
        shown.put("timedOut", statistics.timedOut());
        shown.put("withdrawn", statistics.withdrawn());
        shown.put("failed", statistics.failed());
        shown.put("released", statistics.released());
        shown.put("lost", statistics.lost());
        shown.put("failedExchanges", statistics.failedExchanges());
        shown.put("failedRenewals", statistics.failedRenewals());
        return shown;
    }

    private static Map<String, Object> shown(SemaphoreDescription description) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("limit", description.limit());
        shown.put("free", description.free());
        shown.put(
                "holders", description.holders().stream().map(Holder::toString).toList());
        return shown;
    }
}
