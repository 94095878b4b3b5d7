package io.github.distributedsemaphore.spi.support;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.spi.BackendAdmin;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/** Creates, shows and changes semaphores in a {@link CasStore}. */
record CasAdmin(CasBackend backend) implements BackendAdmin {
    /** For this long {@link #destroy} waits at most. Epochs run ahead by less, unless the server's clock was set back. */
    private static final long CLOCK_PASSES_MILLIS = 4;

    @Override
    public boolean create(String name, int limit) {
        boolean[] created = new boolean[1];
        CasBackend.Outcome unused = backend.change(name, null, backend.deadline(), row -> {
            created[0] = row.limit == 0;
            if (!created[0] && row.limit != limit) {
                throw new LimitConflictException(name, row.limit, limit);
            }
            row.resize(limit);
        });
        return created[0];
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        CasRow row = backend.look(name).row();
        if (row.limit == 0) {
            return Optional.empty();
        }
        List<Holder> holders =
                row.held.values().stream().map(one -> holder(row, one)).toList();
        return Optional.of(new SemaphoreDescription(name, row.limit, row.free(), holders));
    }

    private static Holder holder(CasRow row, CasRow.Held one) {
        int slot = one.hold().slot();
        return new Holder(
                slot,
                one.hold().epoch(),
                one.who().host(),
                one.who().pid(),
                one.who().label(),
                Instant.ofEpochMilli(one.since()),
                slot > row.limit ? HolderState.RETIRED : HolderState.HELD);
    }

    @Override
    public List<String> names() {
        List<String> names = new ArrayList<>();
        backend.store.list(backend.deadline()).forEach((name, entry) -> {
            if (exists(name, entry)) {
                names.add(name);
            }
        });
        Collections.sort(names);
        return names;
    }

    /** A damaged row is listed, so that it can be found. */
    private boolean exists(String name, CasStore.Entry entry) {
        try {
            CasRow row = CasRow.parse(name, entry, entry.clockMillis(), entry.clockMillis(), 0);
            if (row.isGone()) {
                backend.tendLater(name, OptionalLong.of(0));
            }
            return row.limit != 0;
        } catch (IncompatibleStateException e) {
            return true;
        }
    }

    @Override
    public void resize(String name, int limit) {
        CasBackend.Outcome unused = backend.change(name, null, backend.deadline(), row -> {
            if (row.limit == 0) {
                throw new NoSuchSemaphoreException("There is no semaphore '" + name + "' to resize: create it", name);
            }
            row.resize(limit);
            // Also if it has that limit: an earlier change of unknown outcome that is still on its way then does
            // nothing.
            row.touch();
        });
    }

    /** Waits until the clock has passed the epochs that were granted, and removes the entry, if nothing is held. */
    @Override
    public boolean destroy(String name) {
        boolean[] existed = new boolean[1];
        Deadline end = backend.deadline();
        CasRow left = backend.change(name, null, end, row -> {
                    existed[0] = row.limit != 0;
                    row.resize(0);
                    // As in resize: what is left of it may be about to be created anew by a late request.
                    row.touch();
                })
                .row();
        if (left.isGone() && left.millisToTend().isPresent()) {
            try (InterruptShield shield = new InterruptShield()) {
                long wait = Math.min(CLOCK_PASSES_MILLIS, left.millisToTend().getAsLong());
                shield.pause(TimeUnit.MILLISECONDS.toNanos(wait));
            }
            backend.tend(name, end);
        }
        return existed[0];
    }

    @Override
    public int retiredHolders(String name) {
        CasRow row = backend.look(name).row();
        return row.held.tailMap(row.limit, false).size();
    }
}
