package io.github.distributedsemaphore.tck.history;

/**
 * What a check found wrong in a history.
 *
 * @param rule the rule that it breaks
 * @param message who did what when
 */
public record Violation(String rule, String message) {
    @Override
    public String toString() {
        return "[" + rule + "] " + message;
    }
}
