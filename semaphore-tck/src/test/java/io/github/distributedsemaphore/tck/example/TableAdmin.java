package io.github.distributedsemaphore.tck.example;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.tck.example.Table.Row;
import io.github.distributedsemaphore.tck.example.Table.Taken;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Creates, shows and changes semaphores. */
record TableAdmin() implements BackendAdmin {
    private static final Table TABLE = Table.SHARED;

    @Override
    public boolean create(String name, int limit) {
        return TABLE.transaction(name, row -> {
            if (row.limit != 0 && row.limit != limit) {
                throw new LimitConflictException(name, row.limit, limit);
            }
            boolean created = row.limit == 0;
            row.limit = limit;
            return created;
        });
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        return TABLE.transaction(name, row -> {
            List<Holder> holders =
                    row.taken.values().stream().map(taken -> holder(row, taken)).toList();
            int free = row.limit - row.taken.headMap(row.limit, true).size();
            return row.limit == 0
                    ? Optional.empty()
                    : Optional.of(new SemaphoreDescription(name, row.limit, free, holders));
        });
    }

    private static Holder holder(Row row, Taken taken) {
        HolderInfo who = taken.session().self();
        int slot = taken.hold().slot();
        HolderState state = slot > row.limit ? HolderState.RETIRED : HolderState.HELD;
        return new Holder(slot, taken.hold().epoch(), who.host(), who.pid(), who.label(), taken.since(), state);
    }

    @Override
    public List<String> names() {
        return TABLE.transaction(
                "",
                row -> TABLE.rows.entrySet().stream()
                        .filter(entry -> entry.getValue().limit != 0)
                        .map(Map.Entry::getKey)
                        .toList());
    }

    @Override
    public void resize(String name, int limit) {
        boolean unused = TABLE.transaction(name, row -> {
            if (row.limit == 0) {
                throw new NoSuchSemaphoreException("There is no semaphore '" + name + "' to resize: create it");
            }
            row.limit = limit;
            return true;
        });
        TABLE.tellWaiters();
    }

    @Override
    public boolean destroy(String name) {
        boolean existed = TABLE.transaction(name, row -> {
            boolean found = row.limit != 0;
            row.limit = 0;
            return found;
        });
        TABLE.tellWaiters();
        return existed;
    }

    @Override
    public int retiredHolders(String name) {
        return TABLE.transaction(
                name, row -> row.taken.tailMap(row.limit, false).size());
    }
}
