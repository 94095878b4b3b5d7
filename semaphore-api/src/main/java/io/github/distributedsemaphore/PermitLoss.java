package io.github.distributedsemaphore;

import io.github.distributedsemaphore.internal.HeldPermit;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The news that a permit is no longer held although nobody released it.
 *
 * @param semaphoreName the name of the semaphore
 * @param slot the slot that the permit held
 * @param cause why, for a program
 * @param reason why, in a sentence for a log; holds no credentials
 */
public record PermitLoss(String semaphoreName, int slot, LossCause cause, String reason) {
    /**
     * Returns the loss that a release found. The listeners of {@link Holding#onLost} may be told after the work and the release have ended,
     * and of what the release is the first to find they are never told. So whoever reports work as done under a permit asks this too. Does
     * not block. Thread-safe.
     *
     * @param permit what was released
     * @param outcome what its release returned
     * @return the loss; {@link LossCause#TAKEN_BY_BACKEND} if the release was the first to find it; empty if the permit was not lost
     */
    public static Optional<PermitLoss> foundBy(Permit permit, ReleaseOutcome outcome) {
        return outcome != ReleaseOutcome.WAS_LOST
                ? Optional.empty()
                : HeldPermit.knownLoss(permit)
                        .or(() -> Optional.of(new PermitLoss(
                                permit.semaphoreName(),
                                permit.slot(),
                                LossCause.TAKEN_BY_BACKEND,
                                "the backend did not count it any more when it was released")));
    }

    /**
     * Returns the first loss that the release of a group found, as {@link #foundBy(Permit, ReleaseOutcome)} does.
     *
     * @param group what was released
     * @param outcomes what its release returned
     * @return the loss of the lowest slot that was lost; empty if none was
     */
    public static Optional<PermitLoss> foundBy(PermitGroup group, List<ReleaseOutcome> outcomes) {
        List<Permit> permits = group.permits();
        return IntStream.range(0, outcomes.size())
                .mapToObj(i -> foundBy(permits.get(i), outcomes.get(i)))
                .flatMap(Optional::stream)
                .findFirst();
    }
}
