package io.github.distributedsemaphore.tck.example;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.tck.example.Table.Row;
import io.github.distributedsemaphore.tck.example.Table.Taken;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** One client's presence at one semaphore. */
final class TableSession implements BackendSession {
    private static final Table TABLE = Table.SHARED;

    private final HolderInfo self;
    private final String name;

    TableSession(HolderInfo self, String name) {
        this.self = self;
        this.name = name;
    }

    HolderInfo self() {
        return self;
    }

    /** First what is given back, then each want that fits, as a whole. */
    @Override
    public ExchangeResult exchange(ExchangeRequest request) {
        ExchangeResult result = TABLE.transaction(name, row -> {
            Set<Hold> lost = new HashSet<>(request.giveBack());
            lost.removeIf(hold -> giveBack(row, hold));
            List<Answer> answers = request.wants().stream()
                    .map(permits -> grant(row, permits, request.epochs()))
                    .toList();
            // Nothing ends by itself, and who else waits is not known.
            return ExchangeResult.of(answers).lost(lost).build();
        });
        if (!request.giveBack().isEmpty()) {
            TABLE.tellWaiters();
        }
        return result;
    }

    private Answer grant(Row row, int permits, int epochs) {
        if (row.limit == 0) {
            return Answer.MISSING;
        } else if (permits > row.limit) {
            return new Answer.ExceedsLimit(row.limit);
        }
        List<Integer> free = new ArrayList<>();
        for (int slot = 1; slot <= row.limit && free.size() < permits; slot++) {
            if (!row.taken.containsKey(slot)) {
                free.add(slot);
            }
        }
        return free.size() < permits
                ? Answer.FULL
                : new Answer.Granted(
                        free.stream().map(slot -> take(row, slot, epochs)).toList());
    }

    private Hold take(Row row, int slot, int epochs) {
        Hold hold = new Hold(slot, TABLE.lastEpoch + 1, TABLE.lastEpoch + epochs);
        TABLE.lastEpoch += epochs;
        row.taken.put(slot, new Taken(this, hold, Instant.now()));
        return hold;
    }

    /** Only this very hold: the slot may long be somebody else's. */
    private boolean giveBack(Row row, Hold hold) {
        return state(row, hold) != HoldState.LOST && row.taken.remove(hold.slot()) != null;
    }

    private HoldState state(Row row, Hold hold) {
        Taken taken = row.taken.get(hold.slot());
        if (taken == null || taken.session() != this || !taken.hold().equals(hold)) {
            return HoldState.LOST;
        }
        return hold.slot() > row.limit ? HoldState.RETIRED : HoldState.HELD;
    }

    @Override
    public HoldState check(Hold hold) {
        return TABLE.transaction(name, row -> state(row, hold));
    }

    @Override
    public Renewal renew(Collection<Hold> holds) {
        return TABLE.transaction(name, row -> {
            Set<Hold> lost = new HashSet<>(holds);
            lost.removeIf(hold -> state(row, hold) != HoldState.LOST);
            Set<Hold> retired = new HashSet<>(holds);
            retired.removeIf(hold -> state(row, hold) != HoldState.RETIRED);
            return new Renewal(Deadline.NEVER, lost, retired);
        });
    }

    @Override
    public Duration renewEvery() {
        return Duration.ofSeconds(1);
    }

    @Override
    public Watch watch(Runnable hint) {
        TABLE.hints.add(hint);
        return () -> TABLE.hints.remove(hint);
    }

    @Override
    public void close() {
        boolean unused = TABLE.transaction(name, row -> row.taken.values().removeIf(taken -> taken.session() == this));
        TABLE.tellWaiters();
    }

    /** As CRASH_RELEASE is not declared, what a dead client held stays held. */
    @Override
    public void abort() {}
}
