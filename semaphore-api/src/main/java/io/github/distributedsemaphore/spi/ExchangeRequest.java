package io.github.distributedsemaphore.spi;

import java.util.List;

/**
 * What one client wants of one semaphore at a moment: the pending releases and acquires of all its threads.
 *
 * @param giveBack holds of this session to give back, no two the same; done first, and also when nothing can be taken
 * @param wants how many permits each waiting caller wants, at least 1 each, in the order in which they are to be served
 * @param epochs how many epochs to reserve with each granted hold, at least 1; a backend may reserve fewer
 * @param waiting whether callers of this client go on waiting if they are refused now. A backend with a queue of
 *     clients keeps this client's place while it is true, and gives it up when it is false
 */
public record ExchangeRequest(List<Hold> giveBack, List<Integer> wants, int epochs, boolean waiting) {
    /**
     * Keeps unmodifiable copies.
     *
     * @param giveBack see the record
     * @param wants see the record
     * @param epochs see the record
     * @param waiting see the record
     */
    public ExchangeRequest {
        giveBack = List.copyOf(giveBack);
        wants = List.copyOf(wants);
    }
}
