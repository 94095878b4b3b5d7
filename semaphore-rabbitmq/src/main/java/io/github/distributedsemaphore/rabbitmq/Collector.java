package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.LinkLostException;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection.QueueAnswer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The right to take several slots at once. A client that does so declares them together, and gives them back if they are not
 * enough. Two at the same time could both be left with too few, so there is one at a time: it has an exclusive queue. A client
 * that finds no free slot meanwhile looks again. One exchange at a time.
 */
final class Collector {
    /** A client that collects for so long has stalled, or is slower than it is worth to wait for. */
    private static final long LONGEST_COLLECTION_NANOS = 1_000_000_000;

    /** How long an attempt waits for the client that collects: a grant of several slots takes some ten round trips. */
    private static final Duration PATIENCE = Duration.ofMillis(300);

    private static final long LONGEST_PAUSE_NANOS = 10_000_000;

    private final QueueNames names;

    /** Since when another client collects, as far as this one has seen; empty if it has not. */
    private OptionalLong seen = OptionalLong.empty();

    /** When this one has last seen that. */
    private long seenLast;

    private boolean ours;
    private boolean postponed;

    Collector(QueueNames names) {
        this.names = names;
    }

    /** Whether this client is the one that collects. */
    boolean isOurs() {
        return ours;
    }

    /** Whether callers that want several slots are refused, to be asked for again soon. */
    boolean isPostponed() {
        return postponed;
    }

    /**
     * Begins an exchange. For attempts it waits a moment until no other client collects. Callers that go on waiting are postponed
     * instead, so that others of the same exchange do not wait with them.
     */
    void begin(ExchangeRequest request, HolderConnection holder, CallBudget budget) throws LinkLostException {
        ours = false;
        postponed = false;
        if (request.wants().stream().allMatch(want -> want == 1)) {
            return;
        }
        boolean attempt = request.hasAttempts();
        Deadline patience = budget.patience(attempt ? PATIENCE : Duration.ZERO);
        while (!declare(holder, budget)) {
            long now = System.nanoTime();
            long since = seenSince(now);
            if (patience.isPast(now)) {
                postponed = !attempt && now - since <= LONGEST_COLLECTION_NANOS;
                return;
            }
            pause(LONGEST_PAUSE_NANOS);
        }
        seen = OptionalLong.empty();
        ours = true;
    }

    /** What was seen long ago was another collection: a caller that is postponed asks again soon. */
    private long seenSince(long now) {
        if (seen.isEmpty() || now - seenLast > LONGEST_COLLECTION_NANOS) {
            seen = OptionalLong.of(now);
        }
        seenLast = now;
        return seen.getAsLong();
    }

    private boolean declare(HolderConnection holder, CallBudget budget) throws LinkLostException {
        // Without answer it would cost the connection.
        budget.requireTime();
        return holder.declareExclusive(names.collector(), budget.end()) == QueueAnswer.OK;
    }

    /** Ends an exchange. If that is refused it costs the connection: nobody would know of what the exchange was granted. */
    void end(HolderConnection holder, CallBudget budget) throws LinkLostException {
        if (!ours || !holder.isOpen()) {
            return;
        }
        try {
            holder.delete(names.collector(), budget.end());
        } catch (SemaphoreException e) {
            holder.drop("the right to collect could not be given back: " + e.getMessage());
            throw e;
        }
    }

    /** Pauses for a random time, so that clients do not go on in step. */
    static void pause(long mostNanos) {
        try (InterruptShield shield = new InterruptShield()) {
            shield.pause(ThreadLocalRandom.current().nextLong(mostNanos));
        }
    }
}
