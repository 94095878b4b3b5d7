package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import java.util.function.Supplier;

/** One implementation that is wrong on purpose, and the rule that has to find it out. */
interface Mutant {
    /** What is wrong. */
    String name();

    /** How it is made and found out. */
    Recipe recipe();

    /** Tells whether it can be made on this Java. */
    default boolean canBeMade() {
        return true;
    }

    /**
     * How a mutant is made and found out.
     *
     * @param section the section that holds the rule
     * @param rule the rule it breaks
     * @param message what the rule then says, in part; several of which one is enough are separated by a bar
     * @param harness makes it, with everything that it shares, anew
     */
    record Recipe(Class<?> section, String rule, String message, Supplier<SemaphoreTckHarness> harness) {}
}
