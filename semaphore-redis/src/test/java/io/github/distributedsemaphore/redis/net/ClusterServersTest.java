package io.github.distributedsemaphore.redis.net;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.redis.net.ServerSettings.Credentials;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is learned from a node that sends us elsewhere. */
class ClusterServersTest {
    private static final HostAndPort ASKED = new HostAndPort("asked.example", 7000);
    private static final String KEY = "job";

    private final RedisConnector connector = new RedisConnector(
            ServerSettings.from(BackendUri.parse("redis-cluster://asked.example:7000"), Duration.ofSeconds(2)));
    private final ClusterServers servers = new ClusterServers(connector, List.of(), Credentials.NONE);

    @AfterEach
    void close() throws Exception {
        connector.close(Duration.ofSeconds(2), Deadline.after(System.nanoTime(), Duration.ofSeconds(4)));
    }

    private boolean hearsMoved(String where) {
        return servers.isElsewhere("MOVED " + SlotHash.getSlot(KEY) + " " + where, ASKED);
    }

    @ParameterizedTest
    @CsvSource({
        "10.0.0.1:7001, 10.0.0.1, 7001",
        "::1:7001, ::1, 7001",
        "2001:db8::1:7001, 2001:db8::1, 7001",
        "[::1]:7001, ::1, 7001",
        ":7001, asked.example, 7001",
        "?:7001, asked.example, 7001"
    })
    void theOwnerOfASlotIsUnderstood(String where, String host, int port) {
        assertThat(hearsMoved(where)).isTrue();
        assertThat(servers.serverOf(KEY)).isCompletedWithValue(new HostAndPort(host, port));
    }

    @Test
    void anOwnerThatMakesNoSenseIsAskedForAgain() {
        hearsMoved(ASKED.toString());
        assertThat(hearsMoved("nowhere:at-all")).isTrue();
        assertThat(servers.serverOf(KEY)).isNotCompleted();
    }
}
