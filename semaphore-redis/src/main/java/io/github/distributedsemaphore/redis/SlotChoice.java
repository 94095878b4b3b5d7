package io.github.distributedsemaphore.redis;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Which slots to try. Two clients that try the same one cost each other a round trip, so a client takes first the slot that
 * it was told of, then the one it had itself, then the lowest free one, and after a miss any free one.
 */
final class SlotChoice {
    private static final int REMEMBERED = 16;
    private static final int THROWS = 4;

    private final Deque<Integer> recent = new ArrayDeque<>();
    private final Queue<Integer> told = new ConcurrentLinkedQueue<>();

    /** Somebody says that this slot is free. From any thread. */
    void told(int slot) {
        if (told.size() < REMEMBERED) {
            told.add(slot);
        }
    }

    /**
     * The slots that this session was told of and that may be free still.
     *
     * @param fresh whether the state is more recent than what the session was told
     * @param own slots that the session has or will have
     */
    Set<Integer> told(ArmedState state, boolean fresh, Collection<Integer> own) {
        told.removeIf(slot -> slot < 1 || slot > state.limit() || own.contains(slot) || (fresh && !state.isFree(slot)));
        return new TreeSet<>(told);
    }

    /** Whether there are slots that this session was told of. */
    boolean hasTold() {
        return !told.isEmpty();
    }

    /** How many slots this session was told of, of which some may be taken by now. */
    int numberTold() {
        return told.size();
    }

    /** Takes out the slots that this session was told of and has not tried. */
    List<Integer> takeTold() {
        List<Integer> taken = new ArrayList<>();
        for (Integer slot = told.poll(); slot != null; slot = told.poll()) {
            taken.add(slot);
        }
        return taken;
    }

    /** What this session was told of does not count any more. */
    void forgetTold() {
        told.clear();
    }

    /** This session gave it back. */
    void released(int slot) {
        recent.removeFirstOccurrence(slot);
        recent.addFirst(slot);
        if (recent.size() > REMEMBERED) {
            recent.removeLast();
        }
    }

    /**
     * Chooses slots.
     *
     * @param count how many are wanted
     * @param state what is known
     * @param hinted what {@link #told} returned
     * @param missed whether a choice turned out wrong
     * @param releasing slots that become free in the same transaction
     * @param own slots that the session has or will have
     * @return at most so many
     */
    Set<Integer> choose(
            int count,
            ArmedState state,
            Collection<Integer> hinted,
            boolean missed,
            List<Integer> releasing,
            Collection<Integer> own) {
        Set<Integer> chosen = new TreeSet<>();
        addAll(
                chosen,
                count,
                releasing.stream().filter(slot -> slot <= state.limit()).toList(),
                own);
        addAll(chosen, count, hinted, own);
        told.removeAll(chosen);
        addAll(chosen, count, recent.stream().filter(state::isFree).toList(), own);
        if (state.usedSlots() != null) {
            addAll(chosen, count, free(state, count + own.size() + chosen.size(), missed), own);
        } else {
            for (int i = 0; i < THROWS * count && chosen.size() < count; i++) {
                addAll(chosen, count, List.of(1 + ThreadLocalRandom.current().nextInt(state.limit())), own);
            }
        }
        return chosen;
    }

    private static void addAll(Set<Integer> chosen, int count, Collection<Integer> slots, Collection<Integer> own) {
        for (Integer slot : slots) {
            if (chosen.size() < count && !own.contains(slot)) {
                chosen.add(slot);
            }
        }
    }

    private static List<Integer> free(ArmedState state, int atMost, boolean any) {
        List<Integer> free = new ArrayList<>();
        for (int slot = 1; slot <= state.limit() && (any || free.size() < atMost); slot++) {
            if (state.isFree(slot)) {
                free.add(slot);
            }
        }
        if (any) {
            Collections.shuffle(free, ThreadLocalRandom.current());
        }
        return free;
    }
}
