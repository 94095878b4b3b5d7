package io.github.distributedsemaphore.rabbitmq;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** What a session remembers between exchanges, so that most of them need not search. For one thread. */
final class SlotMemory {
    private static final int MOST = 64;

    private final Deque<Integer> freed = new ArrayDeque<>();
    private int limit;

    /** The limit as it was last seen; 0 if it is to be determined. */
    int limit() {
        return limit;
    }

    void learn(int seen) {
        limit = seen;
    }

    /** This session gave the slot back a while ago: perhaps it is still free. */
    void freed(int slot) {
        freed.remove(slot);
        freed.push(slot);
        if (freed.size() > MOST) {
            freed.removeLast();
        }
    }

    /** Hands out the slots that may be free, the last freed first, and forgets them. */
    List<Integer> takeFreed(int most) {
        List<Integer> slots = new ArrayList<>();
        while (slots.size() < most && !freed.isEmpty()) {
            slots.add(freed.pop());
        }
        return slots;
    }
}
