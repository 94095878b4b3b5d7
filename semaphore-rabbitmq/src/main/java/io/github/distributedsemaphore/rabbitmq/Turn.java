package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import java.util.OptionalLong;

/**
 * The time that a client leaves to others who wait after it gave a slot back. They have to hear of it, to look and to declare,
 * which takes a few round trips; the client itself would nearly always be faster. Whoever says that it waits gets one such
 * turn; if it comes away empty-handed, it says so again. For one thread.
 */
final class Turn {
    private static final long NANOS = 30_000_000;

    private final Mailbox mailbox;
    private final String semaphore;
    private OptionalLong answered = OptionalLong.empty();
    private long end = System.nanoTime();

    Turn(Mailbox mailbox, String semaphore) {
        this.mailbox = mailbox;
        this.semaphore = semaphore;
    }

    /** A slot was given back. */
    void begins() {
        OptionalLong heard = mailbox.lastWaiter(semaphore);
        if (!mailbox.isOpen() || (heard.isPresent() && !heard.equals(answered))) {
            answered = heard;
            end = System.nanoTime() + NANOS;
        }
    }

    Deadline end() {
        return Deadline.at(end);
    }

    /** Whether a request has to wait. Attempts have not: they get an answer. */
    boolean isOfOthers(ExchangeRequest request) {
        return request.waiting() && request.attempts() == 0 && end - System.nanoTime() > 0;
    }

    boolean isAnyoneElseWaiting() {
        return mailbox.isAnyoneWaiting(semaphore);
    }
}
