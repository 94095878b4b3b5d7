package io.github.distributedsemaphore.spi;

import io.github.distributedsemaphore.Deadline;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;

/**
 * What an exchange did. Immutable; made by {@link #of}, which asks for the answers only: everything else has a default that
 * suits a backend to which it means nothing.
 *
 * <pre>{@code
 * return ExchangeResult.of(answers).lost(lost).validUntil(Deadline.after(sent, lease)).build();
 * }</pre>
 */
public final class ExchangeResult {
    private final Set<Hold> lost;
    private final List<Answer> answers;
    private final Deadline validUntil;
    private final Deadline recheck;
    private final boolean othersWaiting;
    private final int ahead;
    private final OptionalLong sent;

    private ExchangeResult(Builder from) {
        this.lost = Set.copyOf(from.lost);
        this.answers = List.copyOf(from.answers);
        this.validUntil = from.validUntil;
        this.recheck = from.recheck;
        this.othersWaiting = from.othersWaiting;
        this.ahead = from.ahead;
        this.sent = from.sent;
    }

    /**
     * Starts a result.
     *
     * @param answers an answer for each want, in their order
     * @return a builder, for one thread
     */
    public static Builder of(List<Answer> answers) {
        return new Builder(answers);
    }

    /**
     * Starts a copy.
     *
     * @return a builder that has everything this result has
     */
    public Builder toBuilder() {
        Builder copy = new Builder(answers)
                .lost(lost)
                .validUntil(validUntil)
                .recheck(recheck)
                .othersWaiting(othersWaiting)
                .ahead(ahead);
        copy.sent = sent;
        return copy;
    }

    /**
     * Returns what was lost.
     *
     * @return those of the holds to give back that were not held any more; all others are given back now
     */
    public Set<Hold> lost() {
        return lost;
    }

    /**
     * Returns the answers.
     *
     * @return an answer for each want, in their order
     */
    public List<Answer> answers() {
        return answers;
    }

    /**
     * Returns until when the granted holds are sure.
     *
     * @return see {@link Builder#validUntil}
     */
    public Deadline validUntil() {
        return validUntil;
    }

    /**
     * Returns when a slot may become free without a hint.
     *
     * @return see {@link Builder#recheck}
     */
    public Deadline recheck() {
        return recheck;
    }

    /**
     * Tells whether other clients may be waiting.
     *
     * @return see {@link Builder#othersWaiting}
     */
    public boolean othersWaiting() {
        return othersWaiting;
    }

    /**
     * Returns how many clients wait before this one, at least.
     *
     * @return see {@link Builder#ahead}
     */
    public int ahead() {
        return ahead;
    }

    /**
     * Returns when the request that decided was sent.
     *
     * @return see {@link Builder#sent}
     */
    public OptionalLong sent() {
        return sent;
    }

    @Override
    public String toString() {
        return "answers " + answers + ", lost " + lost;
    }

    /** Collects a result. Not thread-safe. */
    public static final class Builder {
        private Collection<Hold> lost = Set.of();
        private List<Answer> answers;
        private Deadline validUntil = Deadline.NEVER;
        private Deadline recheck = Deadline.NEVER;
        private boolean othersWaiting = true;
        private int ahead;
        private OptionalLong sent = OptionalLong.empty();

        private Builder(List<Answer> answers) {
            this.answers = answers;
        }

        /**
         * Replaces the answers.
         *
         * @param replaced an answer for each want, in their order
         * @return this
         */
        public Builder answers(List<Answer> replaced) {
            answers = replaced;
            return this;
        }

        /**
         * Names the holds that could not be given back because they were not held any more. By default none.
         *
         * @param holds holds from the request
         * @return this
         */
        public Builder lost(Collection<Hold> holds) {
            lost = holds;
            return this;
        }

        /**
         * Says until when the granted holds are sure, counted from before the request was sent. By default {@link
         * Deadline#NEVER}, for a backend without leases.
         *
         * @param end the end, less what clocks may differ
         * @return this
         */
        public Builder validUntil(Deadline end) {
            validUntil = end;
            return this;
        }

        /**
         * Says when a slot may become free without a hint, such as the earliest known end of a lease that is not renewed; or
         * when to poll, where the backend has no hints. The engine asks about then, not more often than every millisecond.
         * By default {@link Deadline#NEVER}: nothing is known, and the engine asks once a second, or as {@link #ahead} says.
         *
         * @param instant the earliest
         * @return this
         */
        public Builder recheck(Deadline instant) {
            recheck = instant;
            return this;
        }

        /**
         * Says whether other clients may be waiting for this semaphore. After its run of local hand-offs the engine then
         * leaves them a turn before it takes again. By default true, for a backend that cannot know.
         *
         * @param waiting whether they may
         * @return this
         */
        public Builder othersWaiting(boolean waiting) {
            othersWaiting = waiting;
            return this;
        }

        /**
         * Says how many clients wait before this one, at least. Behind many, and while there is a watch, the engine asks more
         * seldom without a hint, so that a long queue does not keep the server busy. By default zero: it is not known.
         *
         * @param clients how many; those further back need not be counted
         * @return this
         */
        public Builder ahead(int clients) {
            ahead = clients;
            return this;
        }

        /**
         * Says when the request that decided was sent, by {@link System#nanoTime}: its slots may pass from thread to thread for a
         * while from the answer on, and at most twice as long from then on. Needed only where the exchange first looked, waited, or was overtaken; by default it
         * was sent when the exchange began.
         *
         * @param nanos the instant in nanoseconds
         * @return this
         */
        public Builder sent(long nanos) {
            sent = OptionalLong.of(nanos);
            return this;
        }

        /**
         * Finishes.
         *
         * @return the result
         */
        public ExchangeResult build() {
            return new ExchangeResult(this);
        }
    }
}
