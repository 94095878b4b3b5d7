package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Fence;
import io.github.distributedsemaphore.spi.Hold;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A slot that the backend counts as this client's, and which of the client's permits has it at present. Guarded by the
 * coordinator's lock, but for what {@link HeldPermit#isValid} reads.
 */
final class SlotHold {
    private final Hold hold;

    /** When the request that brought it was sent. */
    private final long takenAt;

    private long nextEpoch;
    private int handOffs;
    private volatile Deadline validUntil;
    private boolean retired;
    private long retiredAt;
    private @Nullable HeldPermit permit;

    SlotHold(Hold hold, long takenAt, Deadline validUntil) {
        this.hold = hold;
        this.takenAt = takenAt;
        this.validUntil = validUntil;
        this.nextEpoch = hold.epoch();
    }

    Hold hold() {
        return hold;
    }

    long takenAt() {
        return takenAt;
    }

    int handOffs() {
        return handOffs;
    }

    boolean hasEpochsLeft() {
        return nextEpoch <= hold.lastEpoch();
    }

    Deadline validUntil() {
        return validUntil;
    }

    /** Each of two confirmations is true for itself, so the later end counts. */
    void confirm(Deadline until) {
        if (validUntil.isBefore(until)) {
            validUntil = until;
        }
    }

    boolean isRetired() {
        return retired;
    }

    void retire(long now) {
        retired = true;
        retiredAt = now;
    }

    /**
     * Takes over what a renewal says, which knows the limit of when it was sent: what this client has retired since stays so.
     */
    void retireIf(Set<Hold> retiredHolds, long sent) {
        if (!retired || sent - retiredAt > 0) {
            retired = retiredHolds.contains(hold);
            retiredAt = sent;
        }
    }

    @Nullable
    HeldPermit permit() {
        return permit;
    }

    /** Makes the next permit of this hold, with the next epoch. */
    HeldPermit issue(HeldPermit.Owner owner) {
        if (permit != null) {
            handOffs++;
        }
        HeldPermit issued = new HeldPermit(owner, this, new Fence(hold.slot(), nextEpoch++));
        permit = issued;
        return issued;
    }
}
