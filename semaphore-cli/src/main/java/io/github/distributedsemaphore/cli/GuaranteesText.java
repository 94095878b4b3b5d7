package io.github.distributedsemaphore.cli;

import io.github.distributedsemaphore.Capability;
import io.github.distributedsemaphore.Fault;
import io.github.distributedsemaphore.Guarantees;
import io.github.distributedsemaphore.spi.Durations;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Locale;

/** A backend's guarantees for people. */
final class GuaranteesText {
    private final TextTable table;
    private final Guarantees guarantees;

    private GuaranteesText(Guarantees guarantees) {
        this.guarantees = guarantees;
        this.table = new TextTable("BACKEND", guarantees.backend());
    }

    static String of(Guarantees guarantees) {
        GuaranteesText text = new GuaranteesText(guarantees);
        text.addCapabilities();
        text.addBounds();
        text.addExposure();
        StringBuilder all = new StringBuilder(text.table.toString());
        guarantees
                .notes()
                .forEach(note -> all.append(System.lineSeparator()).append("- ").append(note));
        return all.toString();
    }

    private void addCapabilities() {
        for (Capability capability : Capability.values()) {
            table.add(words(capability), guarantees.has(capability) ? "yes" : "no");
        }
    }

    private void addBounds() {
        table.add("dead holder's slot free after", "at least " + Durations.format(guarantees.detectionMin()));
        table.add("", "at most " + Durations.format(guarantees.detectionMax()));
        table.add("holder told of a loss within", Durations.format(guarantees.lossNotice()));
        table.add("waiter woken within", Durations.format(guarantees.wakeUp()));
        table.add("other calls end within", Durations.format(guarantees.operation()));
        table.add("local hand-off without asking, at most", Durations.format(guarantees.handOff()));
        table.add("longest name", guarantees.maxNameBytes() + " bytes of UTF-8");
        table.add("most slots", String.valueOf(guarantees.maxPermits()));
    }

    private void addExposure() {
        for (Fault fault : Fault.values()) {
            Duration overlap = guarantees.exposure().get(fault);
            table.add(
                    "two holders of a slot after " + words(fault), overlap == null ? "cannot happen" : bound(overlap));
        }
    }

    private static String bound(Duration overlap) {
        if (overlap.isZero()) {
            return "never";
        }
        return overlap.compareTo(ChronoUnit.FOREVER.getDuration()) >= 0
                ? "no bound"
                : "for at most " + Durations.format(overlap);
    }

    private static String words(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
