package io.github.distributedsemaphore.tck.history;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.tck.history.Operation.Kind;
import io.github.distributedsemaphore.tck.history.Operation.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** Calls a semaphore for one thread and records each call. Not thread-safe. */
public final class ProcessLog {
    /** A call whose time is over waits a little longer for an answer that is under way; one that ends before that had its answer. */
    private static final long UNDER_WAY_NANOS = 40_000_000;

    private static final int EXPECTED = 256;

    private final HistoryRecorder recorder;
    private final String process;
    private final List<Operation> operations = new ArrayList<>(EXPECTED);

    ProcessLog(HistoryRecorder recorder, String process) {
        this.recorder = recorder;
        this.process = process;
    }

    /**
     * Permits taken in one call.
     *
     * @param permits the permits
     * @param held how the history calls them
     * @param sureUntil up to when they were sure at the return
     */
    public record Grant(List<Permit> permits, List<HeldSlot> held, long sureUntil) {}

    /** What a call of the port may return or throw. */
    @FunctionalInterface
    private interface Call {
        Optional<List<Permit>> run() throws InterruptedException;
    }

    /**
     * Takes permits if they are free.
     *
     * @param semaphore where
     * @param count how many
     * @return the permits, or empty
     */
    public Optional<Grant> tryAcquire(DistributedSemaphore semaphore, int count) {
        try {
            return record(
                    Kind.TRY,
                    count,
                    () -> count == 1
                            ? semaphore.tryAcquire().map(List::of)
                            : semaphore.tryAcquire(count).map(PermitGroup::permits),
                    () -> Outcome.REFUSED);
        } catch (InterruptedException e) {
            throw new IllegalStateException("tryAcquire() is not interruptible", e);
        }
    }

    /**
     * Takes permits, waiting for them.
     *
     * @param semaphore where
     * @param count how many
     * @param maxWait the longest wait
     * @return the permits, or empty
     * @throws InterruptedException if the thread is interrupted
     */
    public Optional<Grant> acquire(DistributedSemaphore semaphore, int count, Duration maxWait)
            throws InterruptedException {
        long left = System.nanoTime() + maxWait.toNanos() + UNDER_WAY_NANOS;
        return record(
                Kind.ACQUIRE,
                count,
                () -> count == 1
                        ? semaphore.tryAcquire(maxWait).map(List::of)
                        : semaphore.tryAcquire(count, maxWait).map(PermitGroup::permits),
                () -> System.nanoTime() - left < 0 ? Outcome.REFUSED : Outcome.LEFT);
    }

    /**
     * Releases permits. A release of one that was lost is noted as failed: it did nothing, and the loss may be reported afterwards.
     *
     * @param grant the permits
     */
    public void release(Grant grant) {
        long invoked = System.nanoTime();
        boolean valid = grant.permits().stream().allMatch(Permit::isValid);
        Outcome outcome = Outcome.UNKNOWN;
        int released = 0;
        try {
            boolean lost = false;
            for (Permit permit : grant.permits()) {
                lost |= permit.release() == ReleaseOutcome.WAS_LOST;
                released++;
            }
            outcome = lost ? Outcome.FAILED : Outcome.OK;
        } finally {
            // One that fails is to leave none of the others held for good.
            grant.permits().stream().skip(released).forEach(Permit::close);
            long sureUntil = valid ? invoked : Math.min(invoked, grant.sureUntil());
            add(Kind.RELEASE, invoked, outcome, grant.permits().size(), grant.held(), sureUntil);
        }
    }

    private Optional<Grant> record(Kind kind, int count, Call call, Supplier<Outcome> refused)
            throws InterruptedException {
        long invoked = System.nanoTime();
        try {
            Optional<List<Permit>> permits = call.run();
            if (permits.isEmpty()) {
                add(kind, invoked, refused.get(), count, List.of(), Operation.NEVER);
                return Optional.empty();
            }
            return Optional.of(granted(kind, invoked, permits.get()));
        } catch (OutcomeUnknownException e) {
            add(kind, invoked, Outcome.UNKNOWN, count, List.of(), Operation.NEVER);
            throw e;
        } catch (SemaphoreException | InterruptedException e) {
            add(kind, invoked, Outcome.FAILED, count, List.of(), Operation.NEVER);
            throw e;
        }
    }

    private Grant granted(Kind kind, long invoked, List<Permit> permits) {
        long returned = System.nanoTime();
        List<HeldSlot> held = permits.stream().map(recorder::held).toList();
        long sureUntil = permits.stream()
                .mapToLong(permit -> sureUntil(permit, returned))
                .min()
                .orElse(Operation.NEVER);
        operations.add(new Operation(process, kind, invoked, returned, Outcome.OK, permits.size(), held, sureUntil));
        for (int i = 0; i < permits.size(); i++) {
            HeldSlot slot = held.get(i);
            permits.get(i).onLost(loss -> recorder.lost(process, slot));
        }
        return new Grant(permits, held, sureUntil);
    }

    /**
     * Returns up to when a permit is sure, as a history notes it. The process may have stood still since the grant, and the permit may be
     * lost by now. Then its end is whatever it says, so nothing is sure of it.
     *
     * @param permit the permit
     * @param granted when it was granted, on the scale of {@link System#nanoTime}
     * @return on the same scale; {@link Operation#NEVER} if without end
     */
    public static long sureUntil(Permit permit, long granted) {
        // In this order: a permit that is valid afterwards was so when it said its end.
        Deadline end = permit.validUntil();
        if (!permit.isValid()) {
            return granted;
        }
        return end.isNever() ? Operation.NEVER : granted + end.nanosFrom(granted);
    }

    private void add(Kind kind, long invoked, Outcome outcome, int count, List<HeldSlot> held, long sureUntil) {
        operations.add(new Operation(process, kind, invoked, System.nanoTime(), outcome, count, held, sureUntil));
    }

    List<Operation> operations() {
        return operations;
    }
}
