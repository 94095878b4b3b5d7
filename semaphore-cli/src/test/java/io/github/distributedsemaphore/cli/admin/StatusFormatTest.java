package io.github.distributedsemaphore.cli.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.cli.common.StatusJson;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

final class StatusFormatTest {
    private static final SemaphoreDescription EXPORTS = new SemaphoreDescription(
            "exports",
            2,
            1,
            List.of(
                    new Holder(
                            1,
                            17,
                            "web-1",
                            4711,
                            "nightly \"run\"",
                            Instant.parse("2026-01-02T03:04:05.678Z"),
                            HolderState.HELD),
                    new Holder(3, 0, "", 0, "", null, HolderState.RETIRED)));

    private static final String EXPORTS_JSON = "{\"name\":\"exports\",\"limit\":2,\"free\":1,\"holders\":["
            + "{\"slot\":1,\"epoch\":17,\"host\":\"web-1\",\"pid\":4711,\"label\":\"nightly \\\"run\\\"\","
            + "\"since\":\"2026-01-02T03:04:05.678Z\",\"state\":\"held\"},"
            + "{\"slot\":3,\"epoch\":0,\"host\":\"\",\"pid\":0,\"label\":\"\",\"since\":null,\"state\":\"retired\"}]}";

    @Test
    void jsonHasTheMembersAndTheOrderThatAreDocumented() {
        assertThat(StatusJson.of(EXPORTS)).isEqualTo(EXPORTS_JSON);
        assertThat(StatusJson.of(List.of(EXPORTS))).isEqualTo("[" + EXPORTS_JSON + "]");
        assertThat(StatusJson.of(List.of())).isEqualTo("[]");
    }

    @Test
    void textHasALinePerHeldSlot() {
        assertThat(StatusText.of(EXPORTS).lines())
                .containsExactly(
                        "exports: limit 2, free 1",
                        "SLOT  EPOCH  HOST   PID   LABEL          SINCE                 STATE",
                        "1     17     web-1  4711  nightly \"run\"  2026-01-02T03:04:05Z  held",
                        "3     0      -      -     -              -                     retired");
    }

    @Test
    void manyHoldersAreShownInATimeThatGrowsAsTheyDo() {
        List<Holder> holders = Collections.nCopies(50_000, EXPORTS.holders().get(0));
        SemaphoreDescription crowded = new SemaphoreDescription("jobs", 50_000, 0, holders);
        String text = assertTimeoutPreemptively(Duration.ofSeconds(10), () -> StatusText.of(crowded));
        assertThat(text.lines()).hasSize(50_002);
    }

    @Test
    void textOfAFreeSemaphoreIsALine() {
        assertThat(StatusText.of(new SemaphoreDescription("jobs", 4, 4, List.of())))
                .isEqualTo("jobs: limit 4, free 4");
    }
}
