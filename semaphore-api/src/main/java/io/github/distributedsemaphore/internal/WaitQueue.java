package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.spi.ExchangeRequest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The calls that want permits, in their order. Callers that wait are served first come, first served; those with one attempt stand
 * beside the queue and go ahead of it. A client that stops or closes ends them all. Guarded by the coordinator's lock.
 */
final class WaitQueue {
    /** Of each kind; if all of them are served, the next exchange follows at once. */
    static final int MOST_PER_EXCHANGE = ExchangeRequest.MOST_WANTS / 2;

    private final Deque<AcquireCall> attempts = new ArrayDeque<>();

    /** A set, because waiters that give up leave from the middle, thousands of them in a storm of short time-outs. */
    private final Set<AcquireCall> waiting = new LinkedHashSet<>();

    /** Why no call may come any more; null if it may. */
    private @Nullable Supplier<RuntimeException> refusal;

    private boolean closed;

    void add(AcquireCall call) {
        if (call.isOnce()) {
            attempts.add(call);
        } else {
            waiting.add(call);
        }
    }

    void remove(AcquireCall call) {
        if (!waiting.remove(call)) {
            attempts.remove(call);
        }
    }

    boolean hasAttempts() {
        return !attempts.isEmpty();
    }

    int waiting() {
        return waiting.size();
    }

    boolean isAnyoneWaiting() {
        return !waiting.isEmpty();
    }

    @Nullable
    AcquireCall head() {
        return waiting.isEmpty() ? null : waiting.iterator().next();
    }

    /** Whether so many calls right behind the head want a single permit each. */
    boolean areNextForOne(int number) {
        return waiting.stream()
                        .skip(1)
                        .limit(number)
                        .takeWhile(call -> call.wanted() == 1)
                        .count()
                == number;
    }

    /** Takes the calls with one attempt: they leave the queue whatever comes. */
    List<AcquireCall> takeAttempts() {
        return takeAttempts(Integer.MAX_VALUE);
    }

    /** Takes the first of them. */
    List<AcquireCall> takeAttempts(int most) {
        List<AcquireCall> taken = new ArrayList<>();
        while (taken.size() < most && !attempts.isEmpty()) {
            taken.add(attempts.remove());
        }
        return taken;
    }

    /** Takes those of them that had come by an instant. */
    List<AcquireCall> takeAttemptsUntil(long instant) {
        List<AcquireCall> taken = new ArrayList<>();
        attempts.removeIf(call -> call.since() - instant <= 0 && taken.add(call));
        return taken;
    }

    /**
     * The waiters to ask for now, which stay in the queue. None behind the first that wants several permits, or small
     * requests would overtake it without end.
     */
    List<AcquireCall> front() {
        List<AcquireCall> front = new ArrayList<>();
        for (AcquireCall call : waiting) {
            front.add(call);
            if (call.wanted() > 1 || front.size() == MOST_PER_EXCHANGE) {
                break;
            }
        }
        return front;
    }

    /** Ends the calls that wait, not those with one attempt. */
    void failWaiting(RuntimeException failure) {
        for (AcquireCall head = head(); head != null; head = head()) {
            remove(head);
            head.fail(failure);
        }
    }

    /** Why a call that comes now fails; null if it may come. */
    @Nullable
    RuntimeException refusal() {
        return refusal == null ? null : refusal.get();
    }

    boolean isClosed() {
        return closed;
    }

    /** The client closes: the calls end, and none may come. */
    void close(Supplier<RuntimeException> why) {
        closed = true;
        refusal = why;
        endAll(why);
    }

    /** The client takes no more permits: the calls end, and none may come. What is held stays. */
    void stop(Supplier<RuntimeException> why) {
        if (!closed) {
            refusal = why;
        }
        endAll(why);
    }

    private void endAll(Supplier<RuntimeException> why) {
        List<AcquireCall> all = takeAttempts();
        all.addAll(waiting);
        waiting.clear();
        all.forEach(call -> call.fail(why.get()));
    }
}
