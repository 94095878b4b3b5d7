package io.github.distributedsemaphore.internal;

/**
 * Decides whether a released slot may pass to a waiting thread of the same client without the backend being asked. It is a
 * grant that the backend has not confirmed, so it is bounded in number and in time, and other clients get a turn in between.
 */
final class HandOff {
    private final int most;
    private final long timeNanos;

    HandOff(ClientSettings settings) {
        this.most = settings.handOffs();
        this.timeNanos = settings.handOffTime().toNanos();
    }

    boolean allows(SlotHold hold, long now) {
        return hold.handOffs() < most
                && now - hold.takenAt() < timeNanos
                && hold.hasEpochsLeft()
                && !hold.isRetired()
                && !hold.validUntil().isPast(now);
    }

    /** How many epochs to reserve with each hold. */
    int epochs() {
        return timeNanos == 0 ? 1 : most + 1;
    }
}
