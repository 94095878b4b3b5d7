package io.github.distributedsemaphore.cli;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** What each backend promises at default settings, as the table of docs/choosing-a-backend.md. No server is asked. */
final class PromisesTable {
    private static final Map<String, String> URIS = new LinkedHashMap<>();

    static {
        URIS.put("local", "local:");
        URIS.put("PostgreSQL", "postgresql://user:password@localhost/database");
        URIS.put("Redis", "redis://localhost");
        URIS.put("RabbitMQ", "amqp://user:password@localhost");
        URIS.put("Consul", "consul://localhost");
    }

    private final Map<String, Guarantees> promised = new LinkedHashMap<>();
    private final StringBuilder text = new StringBuilder();

    private PromisesTable() {
        URIS.forEach((name, uri) -> {
            try (SemaphoreClient client = SemaphoreClient.connect(uri)) {
                promised.put(name, client.guarantees());
            }
        });
    }

    static String text() {
        PromisesTable table = new PromisesTable();
        table.text.append('\n').append("| |");
        URIS.keySet().forEach(name -> table.text.append(' ').append(name).append(" |"));
        table.text.append("\n| --- |").append(" --- |".repeat(URIS.size())).append('\n');
        table.row("detection, at most", it -> time(it.detectionMax()));
        table.row("a frozen holder loses its slot", it -> yesNo(it.has(Capability.LEASE)));
        table.row("a holder notices a loss within", it -> time(it.lossNoticeBound()));
        table.row("a waiter wakes within", it -> time(it.wakeUpBound()));
        table.row("a call that does not wait ends within", it -> time(it.callBound()));
        table.row("fences", it -> yesNo(it.has(Capability.FENCING)));
        table.row("epochs also rise over a restart and a destruction", it -> yesNo(it.has(Capability.DURABLE_FENCING)));
        table.row("semaphores survive a restart", PromisesTable::durability);
        table.row("two holders after a cut link", it -> overlap(it.exposure(Fault.LINK_CUT)));
        table.row("after a restart of the server with its data", it -> overlap(it.exposure(Fault.BACKEND_RESTART)));
        table.row("after a fail-over", it -> overlap(it.exposure(Fault.FAIL_OVER)));
        table.row("after an operator removed the state", it -> overlap(it.exposure(Fault.STATE_REMOVED)));
        table.row("semaphores can be listed", it -> yesNo(it.has(Capability.LISTING)));
        table.row(
                "an administrative call is done as a whole or not at all",
                it -> yesNo(it.has(Capability.ATOMIC_ADMINISTRATION)));
        table.row("waiting clients are served in order of arrival", it -> yesNo(it.has(Capability.ARRIVAL_ORDER)));
        table.row("most slots", it -> Integer.toString(it.maxPermits()));
        return table.text.append('\n').toString();
    }

    private void row(String promise, Function<Guarantees, String> value) {
        text.append("| ")
                .append(promise)
                .append(" | ")
                .append(promised.values().stream().map(value).collect(Collectors.joining(" | ")))
                .append(" |\n");
    }

    private static String yesNo(boolean yes) {
        return yes ? "yes" : "no";
    }

    /** A backend that knows it only from its server says so in a note. */
    private static String durability(Guarantees guarantees) {
        return guarantees.notes().stream().anyMatch(note -> note.contains(Capability.DURABLE_STATE.name()))
                ? "as the server is set"
                : yesNo(guarantees.has(Capability.DURABLE_STATE));
    }

    private static String overlap(Exposure exposure) {
        if (exposure.equals(Exposure.CANNOT_HAPPEN)) {
            return "no fault";
        }
        return exposure.longest()
                .map(longest -> longest.isZero() ? "never" : time(longest))
                .orElse("no limit");
    }

    private static String time(Duration time) {
        return time.toMillis() % 1_000 == 0
                ? time.toSeconds() + " s"
                : time.toMillis() < 1_000 ? time.toMillis() + " ms" : time.toMillis() / 1_000.0 + " s";
    }
}
