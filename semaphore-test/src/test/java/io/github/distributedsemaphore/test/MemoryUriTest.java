package io.github.distributedsemaphore.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What {@code memory:} opens. */
class MemoryUriTest {
    private final String server = "memory:" + UUID.randomUUID();

    @Test
    void clientsOfOneNameShareItsSemaphoresAndThoseOfAnotherDoNot() {
        try (SemaphoreClient one = SemaphoreClient.connect(server);
                SemaphoreClient two = SemaphoreClient.connect(server);
                SemaphoreClient elsewhere = SemaphoreClient.connect(server + "-elsewhere")) {
            one.admin().create("exports", 1);
            Permit permit = one.semaphore("exports").tryAcquire().orElseThrow();
            DistributedSemaphore others = two.semaphore("exports");
            assertThat(others.tryAcquire()).isEmpty();
            assertThat(elsewhere.admin().names()).isEmpty();
            permit.release();
            others.tryAcquire().orElseThrow().release();
        }
    }

    @Test
    void aSemaphoreOutlivesItsClientsAsAtAServer() {
        try (SemaphoreClient one = SemaphoreClient.connect(server)) {
            one.admin().create("exports", 2);
        }
        try (SemaphoreClient two = SemaphoreClient.connect(server)) {
            assertThat(two.semaphore("exports").availablePermits()).isEqualTo(2);
        }
    }

    @Test
    void theNameMayStandWhereOtherUrisHaveTheirHost() {
        String name = server.substring("memory:".length());
        try (SemaphoreClient one = SemaphoreClient.connect("memory://" + name);
                SemaphoreClient two = SemaphoreClient.connect(server)) {
            one.admin().create("exports", 1);
            assertThat(two.admin().names()).containsExactly("exports");
        }
    }

    @Test
    void theDetectionBoundIsTheServersAndAnotherOneIsRefused() {
        try (SemaphoreClient one = SemaphoreClient.connect(server + "?detection=3s");
                SemaphoreClient two = SemaphoreClient.connect(server)) {
            assertThat(one.guarantees().detectionMax()).isEqualTo(Duration.ofSeconds(3));
            assertThat(two.guarantees().detectionMax()).isEqualTo(Duration.ofSeconds(3));
            assertThatThrownBy(() -> SemaphoreClient.connect(server + "?detection=4s"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("'detection'", "4s", "3000ms");
        }
    }

    /** A test has the settings of its application, and nothing here takes as long. */
    @Test
    void theTimeOutOfEveryBackendIsTakenAndChangesNothing() {
        try (SemaphoreClient client = SemaphoreClient.connect(server + "?timeout=5s")) {
            assertThat(client.admin().names()).isEmpty();
        }
        assertThatThrownBy(() -> SemaphoreClient.connect(server + "?timeout=6m"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("timeout", "6m", "5m");
    }

    /** An application that uses one of them to the full has tests too. */
    @Test
    void namesAndLimitsAreTakenThatAnyOtherBackendTakes() {
        try (SemaphoreClient client = SemaphoreClient.connect(server)) {
            String name = "x".repeat(1_000);
            client.admin().create(name, 100_000);
            DistributedSemaphore semaphore = client.semaphore(name);
            Permit permit = semaphore.tryAcquire().orElseThrow();
            assertThat(semaphore.availablePermits()).isEqualTo(99_999);
            permit.release();
        }
    }

    @Test
    void theSettingsOfOtherBackendsAreRefused() {
        assertThatThrownBy(() -> SemaphoreClient.connect(server + "?prefix=orders"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("prefix");
    }

    @Test
    void aDetectionBoundOutOfRangeNamesTheBounds() {
        assertThatThrownBy(() -> SemaphoreClient.connect(server + "?detection=10ms"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("detection", "10ms", "1s");
    }
}
