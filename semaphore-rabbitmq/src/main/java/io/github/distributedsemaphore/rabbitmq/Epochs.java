package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.spi.support.InterruptShield;

/** Where the epochs of holds come from. For one thread at a time. */
interface Epochs extends AutoCloseable {
    /** So many epochs, from the one drawn on, belong to whoever drew it. */
    long RUN = 1_024;

    /** Whether others draw from them too. */
    default boolean areShared() {
        return true;
    }

    /** Sends for an epoch that {@link #draw} is to return, so that its way and something else's are one. */
    default void sendFor(CallBudget budget) {}

    /**
     * Draws an epoch that is higher than all that were drawn before, by whomever.
     *
     * @param budget for how long to wait for a source that is starting
     * @param shield keeps interrupts away meanwhile
     * @throws ProbeFailedException if the broker did not answer in time
     */
    long draw(CallBudget budget, InterruptShield shield) throws ProbeFailedException;

    @Override
    void close();

    /** Epochs that only tell the holds of one session apart. */
    static Epochs counted() {
        return new Epochs() {
            private long next;

            @Override
            public long draw(CallBudget budget, InterruptShield shield) {
                next += RUN;
                return next;
            }

            @Override
            public boolean areShared() {
                return false;
            }

            @Override
            public void close() {}
        };
    }
}
