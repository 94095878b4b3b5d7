package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes slots for one exchange, under the semaphore's mutex. Until {@link #finish} nothing is given away that {@link
 * #undo} could not take back: the slots that the exchange gives back stay locked until then.
 */
final class SlotExchange {
    private static final Logger LOG = LoggerFactory.getLogger(SlotExchange.class);

    private final SlotTable table;
    private final EpochSource epochs;
    private final HolderInfo self;
    private final long owner;
    private final int limit;

    /** Locked and not taken: first the slots that are given back here, then those that a refused want left over. */
    private final Deque<SlotFile> spare = new ArrayDeque<>();

    private final Set<SlotFile> givenBack;
    private final Map<Hold, SlotFile> taken = new LinkedHashMap<>();
    private final List<SlotFile> newlyLocked = new ArrayList<>();
    private int nextSlot = 1;
    private boolean probing;

    SlotExchange(SlotTable table, EpochSource epochs, int limit, HolderInfo self, long owner, Set<SlotFile> givenBack) {
        this.table = table;
        this.epochs = epochs;
        this.limit = limit;
        this.self = self;
        this.owner = owner;
        this.givenBack = givenBack;
    }

    /** Serves the wants in their order, each whole or not at all. */
    List<Answer> serve(List<Integer> wants, int run) throws IOException {
        for (SlotFile file : givenBack) {
            if (file.slot() <= limit && file.inPlace()) {
                spare.add(file);
            }
        }
        List<Answer> answers = new ArrayList<>();
        for (int want : wants) {
            answers.add(want > limit ? new Answer.ExceedsLimit(limit) : serve(want, run));
        }
        return answers;
    }

    private Answer serve(int want, int run) throws IOException {
        while (spare.size() < want) {
            SlotFile free = lockNextFree();
            if (free == null) {
                return Answer.FULL;
            }
            newlyLocked.add(free);
            spare.add(free);
        }
        List<Hold> holds = new ArrayList<>();
        for (int i = 0; i < want; i++) {
            holds.add(take(spare.remove(), run));
        }
        return new Answer.Granted(holds);
    }

    private @Nullable SlotFile lockNextFree() throws IOException {
        while (true) {
            if (nextSlot > limit) {
                if (probing) {
                    return null;
                }
                // None is left that was given back: perhaps some owners have died.
                probing = true;
                nextSlot = 1;
            }
            int slot = nextSlot++;
            if (table.isGivenBack(slot) != probing) {
                SlotFile file = table.tryLock(slot);
                if (file != null) {
                    return file;
                }
            }
        }
    }

    private Hold take(SlotFile file, int run) throws IOException {
        EpochSource.Run next = epochs.next(file, run);
        file.write(new SlotRecord(next.base(), next.first(), next.last(), self, Instant.now()));
        table.setOwner(file.slot(), owner);
        Hold hold = new Hold(file.slot(), next.first(), next.last());
        taken.put(hold, file);
        return hold;
    }

    Map<Hold, SlotFile> taken() {
        return taken;
    }

    /** Unlocks what was not taken; tells whether slots became free by it that were held before. */
    boolean finish() {
        boolean freed = false;
        for (SlotFile file : givenBack) {
            if (!taken.containsValue(file)) {
                spare.remove(file);
                freed |= file.slot() <= limit;
                free(file);
            }
        }
        spare.forEach(this::free);
        return freed;
    }

    /** Frees what was taken after all. */
    void abandon() {
        taken.values().forEach(this::free);
    }

    private void free(SlotFile file) {
        try {
            if (file.slot() <= limit) {
                table.putBack(file);
            } else {
                table.delete(file);
            }
        } catch (IOException e) {
            // It is unlocked, and that is what counts.
            LOG.warn("Slot {} was given back, but its entry in the index remains: {}", file.slot(), e.toString());
        }
    }

    /** Unlocks what was newly locked: after an error the holds that were to be given back are held as before. */
    void undo() {
        newlyLocked.forEach(this::free);
    }
}
