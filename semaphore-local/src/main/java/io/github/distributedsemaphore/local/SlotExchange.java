package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Chooses slots for one exchange, under the semaphore's mutex. Until {@link #write} nothing is stored, so an exchange that fails
 * before leaves everything as it was.
 */
final class SlotExchange {
    private final SlotTable table;
    private final int limit;
    private final Set<Integer> givenBack;

    /** Chosen and not taken: first the slots that are given back here, then those that a refused want left over. */
    private final Deque<Integer> spare = new ArrayDeque<>();

    private final List<Hold> taken = new ArrayList<>();
    private int nextSlot = 1;
    private boolean probing;

    SlotExchange(SlotTable table, int limit, Set<Integer> givenBack) {
        this.table = table;
        this.limit = limit;
        this.givenBack = givenBack;
        givenBack.stream().filter(slot -> slot <= limit).forEach(spare::add);
    }

    /** Serves the wants in their order, each whole or not at all. */
    List<Answer> serve(List<Integer> wants, EpochSource epochs, int run) throws IOException {
        List<Answer> answers = new ArrayList<>();
        for (int want : wants) {
            answers.add(want > limit ? new Answer.ExceedsLimit(limit) : serve(want, epochs, run));
        }
        return answers;
    }

    private Answer serve(int want, EpochSource epochs, int run) throws IOException {
        while (spare.size() < want) {
            int free = nextFree();
            if (free == 0) {
                return Answer.FULL;
            }
            spare.add(free);
        }
        List<Hold> holds = new ArrayList<>();
        for (int i = 0; i < want; i++) {
            int slot = spare.remove();
            holds.add(epochs.next(slot, table.lastEpoch(slot), run));
        }
        taken.addAll(holds);
        return new Answer.Granted(holds);
    }

    /** Returns the next free slot, those first that were given back; 0 if there is none. */
    private int nextFree() throws IOException {
        while (true) {
            if (nextSlot > limit) {
                if (probing) {
                    return 0;
                }
                // None is left that was given back: perhaps some sessions have died.
                probing = true;
                nextSlot = 1;
            }
            int slot = nextSlot++;
            if ((table.session(slot) != SlotTable.NOBODY) == probing && !table.isHeld(slot)) {
                return slot;
            }
        }
    }

    List<Hold> taken() {
        return taken;
    }

    /**
     * Stores what a session has taken and given back; after an error nothing is.
     *
     * @return whether slots became free that were held before
     * @throws Call.HalfDoneException if an error left some of it stored
     */
    boolean write(long session, HolderInfo self) throws IOException {
        Set<Integer> freed = new LinkedHashSet<>(givenBack);
        taken.forEach(hold -> freed.remove(hold.slot()));
        Map<Integer, byte[]> before = new HashMap<>();
        givenBack.forEach(slot -> before.put(slot, table.entry(slot)));
        taken.forEach(hold -> before.put(hold.slot(), table.entry(hold.slot())));
        try {
            for (Hold hold : taken) {
                table.take(hold, session, self);
            }
            for (int slot : freed) {
                table.setSession(slot, SlotTable.NOBODY);
            }
            if (EpochSource.BOOT.isEmpty() && !taken.isEmpty()) {
                table.file().sync();
            }
        } catch (IOException e) {
            undo(before, e);
            throw e;
        }
        return freed.stream().anyMatch(slot -> slot <= limit);
    }

    /**
     * What was given back has its old epochs again, or else its holder could not give it back any more. A disk that takes no bytes
     * has mostly left everything as it was: then nothing is to be undone.
     */
    private void undo(Map<Integer, byte[]> before, IOException reason) throws Call.HalfDoneException {
        try {
            for (Map.Entry<Integer, byte[]> entry : before.entrySet()) {
                if (!table.isStored(entry.getKey(), entry.getValue())) {
                    table.restore(entry.getKey(), entry.getValue());
                }
            }
        } catch (IOException e) {
            e.addSuppressed(reason);
            throw new Call.HalfDoneException(e);
        }
    }
}
