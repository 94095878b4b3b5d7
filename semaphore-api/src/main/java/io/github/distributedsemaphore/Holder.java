package io.github.distributedsemaphore;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The holder of a slot, as it described itself when it took the slot. For people: nothing is decided by it, and nothing in it
 * lets a reader release the slot. With local hand-off the slot may meanwhile be with another thread of the same process.
 *
 * @param slot the slot, from 1; 0 for a holder of Consul's own command, which has no number
 * @param epoch its epoch; 0 where the backend has none
 * @param host the name of the host; empty if not known, as for a holder that is not of this library
 * @param pid the process id on that host; 0 if not known
 * @param label what the client called itself; empty if nothing
 * @param since when it took the slot, by that host's wall clock, over a database by the clock of its server; null if not known
 * @param state how the backend sees it
 */
public record Holder(
        int slot,
        long epoch,
        String host,
        long pid,
        String label,
        @Nullable Instant since,
        HolderState state) {}
