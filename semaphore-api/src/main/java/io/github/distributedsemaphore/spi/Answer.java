package io.github.distributedsemaphore.spi;

import java.util.List;

/** What one caller of an {@link ExchangeRequest} gets: all the holds it wants, or none and why. */
public sealed interface Answer {
    /** Refused because fewer slots are free than wanted. */
    Answer FULL = new Full();

    /** Refused because there is no semaphore of that name. */
    Answer MISSING = new Missing();

    /** For {@link BackendSession#resolve} only: certainly nothing was done for this caller, nor will be. */
    Answer NOT_DONE = new NotDone();

    /**
     * Granted.
     *
     * @param holds exactly as many as were wanted
     */
    record Granted(List<Hold> holds) implements Answer {
        /**
         * Keeps an unmodifiable copy.
         *
         * @param holds exactly as many as were wanted
         */
        public Granted {
            holds = List.copyOf(holds);
        }
    }

    /** See {@link #FULL}. */
    record Full() implements Answer {}

    /** See {@link #MISSING}. */
    record Missing() implements Answer {}

    /** See {@link #NOT_DONE}. */
    record NotDone() implements Answer {}

    /**
     * Refused because the semaphore has fewer slots than are wanted.
     *
     * @param limit how many it has
     */
    record ExceedsLimit(int limit) implements Answer {}
}
