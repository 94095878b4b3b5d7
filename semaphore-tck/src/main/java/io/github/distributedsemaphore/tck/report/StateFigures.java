package io.github.distributedsemaphore.tck.report;

import io.github.distributedsemaphore.tck.history.Sometimes;

/**
 * A state that a run has to reach now and then.
 *
 * @param state which
 * @param expected whether a rule that was tested cannot mean much without it
 * @param reached how often it was reached
 */
public record StateFigures(Sometimes state, boolean expected, long reached) {
    /**
     * Tells whether the run says too little.
     *
     * @return true if it was expected and never reached
     */
    public boolean isMissing() {
        return expected && reached == 0;
    }
}
