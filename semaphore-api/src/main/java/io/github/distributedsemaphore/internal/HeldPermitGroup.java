package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.Verification;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Permits of one acquire, released together. */
final class HeldPermitGroup implements PermitGroup {
    /** What a group answers is the first of these that one of its permits answers. */
    private static final List<Verification> WORST_FIRST =
            List.of(Verification.LOST, Verification.RELEASED, Verification.RETIRED, Verification.HELD);

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
    public String semaphoreName() {
        return coordinator.name();
    }

    @Override
    public boolean isValid() {
        return permits.stream().allMatch(Permit::isValid);
    }

    @Override
    public Deadline validUntil() {
        return permits.stream().map(Permit::validUntil).reduce(Deadline.NEVER, Deadline::earlier);
    }

    @Override
    public Verification verify() {
        return permits.stream()
                .map(Permit::verify)
                .min(Comparator.comparingInt(WORST_FIRST::indexOf))
                .orElseThrow();
    }

    @Override
    public CompletableFuture<Verification> verifyAsync() {
        return Questions.ask(coordinator.environment(), this::verify);
    }

    @Override
    public void onLost(Consumer<? super PermitLoss> listener) {
        permits.forEach(permit -> permit.onLost(listener));
    }

    @Override
    public List<ReleaseOutcome> release() {
        return outcomes(coordinator.release(permits));
    }

    private static List<ReleaseOutcome> outcomes(List<PendingRelease> releases) {
        List<ReleaseOutcome> outcomes = new ArrayList<>();
        RuntimeException failure = null;
        for (PendingRelease release : releases) {
            try {
                outcomes.add(release.outcome());
            } catch (RuntimeException e) {
                failure = first(failure, e);
            }
        }
        if (failure != null) {
            throw failure;
        }
        return List.copyOf(outcomes);
    }

    @Override
    public CompletableFuture<List<ReleaseOutcome>> releaseAsync() {
        return coordinator.releaseAsync(permits, HeldPermitGroup::outcomes);
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
        coordinator.releaseQuietly(permits);
    }
}
