package io.github.distributedsemaphore.tck.harness;

import org.opentest4j.TestAbortedException;

/** The harness does not have what a rule needs. The rule counts as untested, and the report tells why. */
public final class HookMissingException extends TestAbortedException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates it.
     *
     * @param hook what the harness lacks
     */
    public HookMissingException(String hook) {
        super("the harness has no " + hook);
    }
}
