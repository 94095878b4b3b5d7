package io.github.distributedsemaphore.cli.demo;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Guarantees;
import io.github.distributedsemaphore.spi.support.Durations;
import java.util.ArrayList;
import java.util.List;

/** The findings of a demonstration for people. */
final class Summary {
    private Summary() {}

    static String of(Findings findings, Guarantees promised) {
        List<String> lines = new ArrayList<>();
        lines.add("");
        lines.add("permits granted       " + findings.grants());
        lines.add("most holders at once  " + findings.mostAtOnce() + ", limit " + Demo.SLOTS);
        lines.add("waits for a permit    half within " + percentile(findings, 50) + ", 99 % within "
                + percentile(findings, 99) + ", all within " + percentile(findings, 100));
        lines.add("longest idle slot     " + Findings.millis(findings.longestIdle()) + ", promised is a wake-up within "
                + Durations.format(promised.wakeUpBound()));
        lines.add("slot of killed holder "
                + (findings.takeover().isPresent()
                        ? "granted again after "
                                + Findings.millis(findings.takeover().getAsLong())
                        : "never granted again")
                + ", promised is " + Durations.format(Findings.takeoverBound(promised)));
        lines.add("epochs of each slot   "
                + (promised.has(Capability.FENCING) ? "compared over all grants" : "none: the backend has no fencing"));
        findings.broken().forEach(fault -> lines.add("BROKEN: " + fault));
        lines.add(
                findings.broken().isEmpty()
                        ? "Every promise was kept."
                        : "Not every promise was kept: see BROKEN above.");
        return String.join(System.lineSeparator(), lines);
    }

    private static String percentile(Findings findings, double percent) {
        return Findings.millis(findings.waits().getValueAtPercentile(percent));
    }
}
