package io.github.distributedsemaphore.cli.admin;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.cli.common.SemaphoreCommand;
import io.github.distributedsemaphore.cli.common.Terminal;
import io.github.distributedsemaphore.cli.common.TextTable;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Descriptions for people. */
final class StatusText {
    private StatusText() {}

    static String of(List<SemaphoreDescription> semaphores) {
        return semaphores.isEmpty()
                ? SemaphoreCommand.NONE
                : semaphores.stream().map(StatusText::of).collect(Collectors.joining(System.lineSeparator()));
    }

    static String of(SemaphoreDescription semaphore) {
        String summary =
                Terminal.clean(semaphore.name()) + ": limit " + semaphore.limit() + ", free " + semaphore.free();
        if (semaphore.holders().isEmpty()) {
            return summary;
        }
        TextTable table = new TextTable("SLOT", "EPOCH", "HOST", "PID", "LABEL", "SINCE", "STATE");
        semaphore.holders().forEach(holder -> table.add(cells(holder)));
        return summary + System.lineSeparator() + table;
    }

    private static String[] cells(Holder holder) {
        Instant since = holder.since();
        return new String[] {
            String.valueOf(holder.slot()),
            String.valueOf(holder.epoch()),
            orDash(holder.host()),
            holder.pid() == 0 ? "-" : String.valueOf(holder.pid()),
            orDash(holder.label()),
            since == null ? "-" : since.truncatedTo(ChronoUnit.SECONDS).toString(),
            holder.state().name().toLowerCase(Locale.ROOT)
        };
    }

    private static String orDash(String text) {
        return text.isEmpty() ? "-" : text;
    }
}
