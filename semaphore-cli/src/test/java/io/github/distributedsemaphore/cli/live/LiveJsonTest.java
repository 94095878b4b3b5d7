package io.github.distributedsemaphore.cli.live;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import org.junit.jupiter.api.Test;

final class LiveJsonTest {
    @Test
    void hasTheMembersAndTheOrderThatAreDocumented() {
        JsonObject json = LiveJson.now(Model.snapshot());

        assertThat(json.keySet())
                .containsExactly("backend", "address", "detectionMillis", "at", "tookMillis", "semaphores");
        JsonObject exports = json.getAsJsonArray("semaphores").get(0).getAsJsonObject();
        assertThat(exports.keySet())
                .containsExactly("name", "limit", "free", "holders", "held", "retired", "expired", "oldest");
        exports.remove("holders");
        assertThat(exports.toString())
                .isEqualTo("{\"name\":\"exports\",\"limit\":3,\"free\":1,\"held\":2,\"retired\":1,\"expired\":1,"
                        + "\"oldest\":\"2026-01-02T03:03:04.678Z\"}");
        assertThat(json.getAsJsonArray("semaphores")
                        .get(1)
                        .getAsJsonObject()
                        .get("oldest")
                        .isJsonNull())
                .isTrue();
        assertThat(json.getAsJsonArray("semaphores").get(2).toString())
                .isEqualTo("{\"name\":\"<script>\",\"problem\":\"there is no such semaphore\"}");
    }

    @Test
    void thePageGetsThePastAndTheChangesAsWell() {
        JsonObject json = LiveJson.page(Model.snapshot(), 2);

        assertThat(json.getAsJsonArray("ages").toString()).isEqualTo("[1000,0]");
        assertThat(json.getAsJsonArray("semaphores")
                        .get(0)
                        .getAsJsonObject()
                        .get("past")
                        .toString())
                .isEqualTo("[-1,2]");
        assertThat(json.getAsJsonArray("changes").get(0).toString())
                .isEqualTo("{\"reading\":3,\"at\":\"2026-01-02T03:04:04.678Z\",\"name\":\"imports\",\"kind\":\"freed\","
                        + "\"detail\":\"slot 1, web2 pid 7\"}");
    }
}
