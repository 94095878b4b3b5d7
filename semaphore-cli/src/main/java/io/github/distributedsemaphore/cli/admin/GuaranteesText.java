package io.github.distributedsemaphore.cli.admin;

import io.github.distributedsemaphore.cli.common.TextTable;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Exposure;
import io.github.distributedsemaphore.guarantees.Fault;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.support.Durations;
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
        table.add("holder told of a loss within", Durations.format(guarantees.lossNoticeBound()));
        table.add("waiter woken within", Durations.format(guarantees.wakeUpBound()));
        table.add("other calls end within", Durations.format(guarantees.callBound()));
        table.add("local hand-off without asking, at most", Durations.format(guarantees.handOffBound()));
        table.add("longest name", guarantees.maxNameBytes() + " bytes of UTF-8");
        table.add("most slots", String.valueOf(guarantees.maxPermits()));
    }

    private void addExposure() {
        for (Fault fault : Fault.values()) {
            table.add("two holders of a slot after " + words(fault), words(guarantees.exposure(fault)));
        }
    }

    private static String words(Exposure exposure) {
        if (exposure.equals(Exposure.CANNOT_HAPPEN)) {
            return "cannot happen";
        }
        return exposure.longest()
                .map(overlap -> overlap.isZero() ? "never" : "for at most " + Durations.format(overlap))
                .orElse("no bound");
    }

    private static String words(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
}
