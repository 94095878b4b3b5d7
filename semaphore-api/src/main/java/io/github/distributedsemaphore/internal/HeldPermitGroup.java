package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.ReleaseOutcome;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Permits of one acquire, released together. */
final class HeldPermitGroup implements PermitGroup {
    private final Coordinator coordinator;
    private final List<HeldPermit> permits;

    HeldPermitGroup(Coordinator coordinator, List<HeldPermit> permits) {
        this.coordinator = coordinator;
        this.permits = permits.stream()
                .sorted(Comparator.comparingInt(HeldPermit::slot))
                .toList();
    }

    @Override
    public List<Permit> permits() {
        return List.copyOf(permits);
    }

    @Override
    public boolean isValid() {
        return permits.stream().allMatch(Permit::isValid);
    }

    @Override
    public List<ReleaseOutcome> release() {
        List<ReleaseOutcome> outcomes = new ArrayList<>();
        RuntimeException failure = null;
        for (Returning returning : coordinator.release(permits)) {
            try {
                outcomes.add(returning.outcome());
            } catch (RuntimeException e) {
                failure = first(failure, e);
            }
        }
        if (failure != null) {
            throw failure;
        }
        return List.copyOf(outcomes);
    }

    private static RuntimeException first(@Nullable RuntimeException earlier, RuntimeException later) {
        if (earlier == null) {
            return later;
        }
        earlier.addSuppressed(later);
        return earlier;
    }

    @Override
    public void close() {
        Closing.quietly(coordinator, permits);
    }
}
