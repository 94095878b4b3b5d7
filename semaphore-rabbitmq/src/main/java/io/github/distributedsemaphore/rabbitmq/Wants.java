package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.spi.ExchangeRequest;

/**
 * How many slots an exchange needs.
 *
 * @param most all wants together
 * @param least the smallest want: fewer slots are of no use
 * @param certain whether a refusal has to be certain: that of a caller who waits is put right when it asks again, that of an
 *     attempt is an answer
 * @param collecting whether this client is the one that takes several slots now
 */
record Wants(int most, int least, boolean certain, boolean collecting) {
    /** So many can be looked at at once instead of asking whether that is worth it. */
    static final int A_FEW = 16;

    /**
     * Counts what an exchange needs.
     *
     * @param later whether wants of several permits are left out
     */
    static Wants of(ExchangeRequest request, boolean collecting, boolean later) {
        int most = 0;
        int least = QueueNames.MAX_SLOTS;
        for (int want : request.wants()) {
            if (later && want > 1) {
                continue;
            }
            most = (int) Math.min(QueueNames.MAX_SLOTS, (long) most + want);
            least = Math.min(least, want);
        }
        boolean certain = request.attempts() > 0 || !request.waiting();
        return new Wants(most, least, certain, collecting);
    }

    /** How many candidates to look at first: a refusal has to see all, several need many, and for one a few are often enough. */
    int firstLook(int candidates) {
        if (least > 1) {
            return candidates;
        }
        return certain ? ProbeChannel.MOST_AT_ONCE : A_FEW;
    }
}
