package io.github.distributedsemaphore.tck.history;

/**
 * What a check found wrong in a history.
 *
 * @param rule the rule that it breaks
 * @param at where in the history it is seen, on the scale of {@link System#nanoTime}
 * @param message which process did what, and when
 */
public record Violation(String rule, long at, String message) {
    @Override
    public String toString() {
        return "[" + rule + "] " + message;
    }
}
