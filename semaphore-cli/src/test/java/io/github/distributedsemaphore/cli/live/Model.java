package io.github.distributedsemaphore.cli.live;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.cli.live.Change.Kind;
import io.github.distributedsemaphore.cli.live.Snapshot.Row;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** A snapshot to draw. */
final class Model {
    static final Instant NOW = Instant.parse("2026-01-02T03:04:05.678Z");

    private Model() {}

    static Snapshot snapshot() {
        return new Snapshot(
                new Snapshot.Source("redis", "redis://127.0.0.1:6379", Duration.ofSeconds(10)),
                4,
                NOW,
                Duration.ofMillis(3),
                Duration.ofMillis(997),
                "",
                Duration.ZERO,
                List.of(exports(), imports(), missing()),
                List.of(
                        new Change(3, NOW.minusSeconds(1), "imports", Kind.FREED, "slot 1, web2 pid 7"),
                        new Change(4, NOW, "exports", Kind.TAKEN, "slot 2, web1 pid 4711, nightly"),
                        new Change(4, NOW, "exports", Kind.EXPIRED, "slot 1, web2 pid 12")),
                List.of(3000L, 2000L, 1000L, 0L));
    }

    private static Row exports() {
        return new Row(
                "exports",
                new SemaphoreDescription(
                        "exports",
                        3,
                        1,
                        List.of(
                                holder(1, "web2", 12, "", 4_000, HolderState.EXPIRED),
                                holder(2, "web1", 4711, "nightly", 1, HolderState.HELD),
                                holder(5, "web1", 4712, "\u001b[31m\u202eevil", 61, HolderState.RETIRED))),
                "",
                List.of(0, 3, Row.UNKNOWN, 2));
    }

    private static Row imports() {
        return new Row("imports", new SemaphoreDescription("imports", 1, 0, List.of()), "", List.of(1, 1, 1, 1));
    }

    private static Row missing() {
        return new Row("<script>", null, "there is no such semaphore", List.of(-1, -1, -1, -1));
    }

    private static Holder holder(int slot, String host, long pid, String label, long seconds, HolderState state) {
        return new Holder(slot, 17, host, pid, label, NOW.minusSeconds(seconds), state);
    }
}
