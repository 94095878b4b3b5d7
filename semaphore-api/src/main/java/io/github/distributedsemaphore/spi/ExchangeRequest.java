package io.github.distributedsemaphore.spi;

import java.util.List;

/**
 * What one client wants of one semaphore at a moment: the pending releases and acquires of all its threads.
 *
 * <p>The callers are of two kinds. The first {@code attempts} of the wants are calls that try once and never wait: such a want
 * takes what is free, whoever waits elsewhere, and leaves the client's place in a queue of clients as it is. All others are of
 * callers that go on waiting: where a backend has a queue of clients, they do not overtake those that came before. Where {@code
 * waiting} is false nobody goes on waiting, so that there all wants are of the first kind, counted or not. A backend without a
 * queue need not tell them apart.
 *
 * @param giveBack holds of this session to give back, no two the same; done first, and also when nothing can be taken. At most
 *     {@link #MOST_GIVE_BACKS}
 * @param wants how many permits each waiting caller wants, at least 1 each, in the order in which they are to be served. At most
 *     {@link #MOST_WANTS}
 * @param epochs how many epochs to reserve with each granted hold, at least 1; a backend may reserve fewer
 * @param waiting whether callers of this client go on waiting if they are refused now, be they among the wants or not. A backend
 *     with a queue of clients keeps this client's place while it is true, and gives it up when it is false
 * @param attempts how many of the wants, counted from the first, are of calls that try once
 */
public record ExchangeRequest(List<Hold> giveBack, List<Integer> wants, int epochs, boolean waiting, int attempts) {
    /**
     * The most wants that the engine hands to one exchange: at most half of them are {@code attempts}, at most half are of callers
     * that go on waiting. What does not fit goes into the next exchange. An adapter may rely on it.
     */
    public static final int MOST_WANTS = 128;

    /** The most holds that the engine gives back in one exchange. An adapter may rely on it. */
    public static final int MOST_GIVE_BACKS = 128;

    /**
     * Keeps unmodifiable copies.
     *
     * @param giveBack see the record
     * @param wants see the record
     * @param epochs see the record
     * @param waiting see the record
     * @param attempts see the record
     * @throws IllegalArgumentException if there are fewer wants than attempts, or the number is negative
     */
    public ExchangeRequest {
        giveBack = List.copyOf(giveBack);
        wants = List.copyOf(wants);
        if (attempts < 0 || attempts > wants.size()) {
            throw new IllegalArgumentException(
                    "'attempts' is " + attempts + ", it must be from 0 to the number of wants, " + wants.size());
        }
    }

    /**
     * A request without wants that are counted as attempts.
     *
     * @param giveBack see the record
     * @param wants see the record
     * @param epochs see the record
     * @param waiting see the record
     */
    public ExchangeRequest(List<Hold> giveBack, List<Integer> wants, int epochs, boolean waiting) {
        this(giveBack, wants, epochs, waiting, 0);
    }

    /**
     * Tells of which kind the caller of a want is.
     *
     * @param want the position of the want, from 0
     * @return whether the caller goes on waiting if it is refused; else it tries once
     */
    public boolean waits(int want) {
        return waiting && want >= attempts;
    }

    /**
     * Tells whether any of the wants is of a caller that goes on waiting.
     *
     * @return false also where all callers that wait are beside the wants
     */
    public boolean hasWaiters() {
        return !wants.isEmpty() && waits(wants.size() - 1);
    }

    /**
     * Tells whether any of the wants is of a call that tries once. A refusal is its last answer, so it has to be certain. That of a
     * caller that goes on waiting is put right when it asks again.
     *
     * @return whether there is such a want, counted among the {@code attempts} or not
     */
    public boolean hasAttempts() {
        return !wants.isEmpty() && !waits(0);
    }
}
