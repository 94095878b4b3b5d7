package io.github.distributedsemaphore.spi;

/**
 * A slot that the backend counts as held by this session: the identity by which it is confirmed and given back.
 *
 * <p>A backend that can, reserves a run of epochs with each grant, so that the engine can pass the slot on among the
 * threads of one client without asking: each of them gets the next epoch of the run. No epoch of the run may ever be
 * granted again in that slot.
 *
 * @param slot the slot, from 1
 * @param epoch the first epoch of the run, not negative. A backend without {@link
 *     io.github.distributedsemaphore.guarantees.Capability#FENCING} numbers its grants as it likes, so that no two holds of a session
 *     are equal
 * @param lastEpoch the last epoch of the run; the same as the first if only one was reserved
 */
public record Hold(int slot, long epoch, long lastEpoch) {
    /**
     * Checks the numbers.
     *
     * @param slot the slot
     * @param epoch the first epoch
     * @param lastEpoch the last epoch
     */
    public Hold {
        if (slot < 1 || epoch < 0 || lastEpoch < epoch) {
            throw new IllegalArgumentException("not a hold: slot " + slot + ", epochs " + epoch + ".." + lastEpoch);
        }
    }
}
