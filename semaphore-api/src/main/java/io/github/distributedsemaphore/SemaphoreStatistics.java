package io.github.distributedsemaphore;

import java.util.Map;

/**
 * What one client did at one semaphore since the application got the {@link DistributedSemaphore} from it, at one moment. {@code held},
 * {@code waiting} and {@code validUntil} describe this moment. All others count and never fall.
 *
 * <p>A grant counts when it is made. In the rare case that a permit is lost, or the client is closed, before the call returns, the
 * application does not get what was granted. The grant stays counted, and its permits count as lost or released. A call that does not
 * wait throws then, and does not count as failed. One that waits asks again, which counts like another call.
 *
 * @param held permits that are held now
 * @param waiting calls that wait for permits now
 * @param grantedByBackend permits that came from the backend
 * @param grantedByHandOff permits that came from another thread of this client, without asking the backend
 * @param refused calls that do not wait and found too few slots free
 * @param timedOut calls whose time was over before they got what they wanted
 * @param withdrawn calls that were interrupted, cancelled, or completed by hand before they got what they wanted
 * @param failed calls for permits that ended with an exception; without those that a grant did not reach
 * @param released permits that the application gave up, or that went back because a grant did not reach it
 * @param lost permits that were lost, by cause; every cause is in the map
 * @param exchanges requests that take or give back slots, and were answered
 * @param failedExchanges those that failed, or whose outcome was not known at first
 * @param renewals renewals that were confirmed
 * @param failedRenewals those that were not
 * @param validUntil the earliest instant at which one of the permits that are held ends if no renewal is confirmed before; {@link
 *     Deadline#NEVER} if there is none
 */
public record SemaphoreStatistics(
        int held,
        int waiting,
        long grantedByBackend,
        long grantedByHandOff,
        long refused,
        long timedOut,
        long withdrawn,
        long failed,
        long released,
        Map<LossCause, Long> lost,
        long exchanges,
        long failedExchanges,
        long renewals,
        long failedRenewals,
        Deadline validUntil) {
    /**
     * Keeps an unmodifiable copy of the losses.
     *
     * @param held see the record
     * @param waiting see the record
     * @param grantedByBackend see the record
     * @param grantedByHandOff see the record
     * @param refused see the record
     * @param timedOut see the record
     * @param withdrawn see the record
     * @param failed see the record
     * @param released see the record
     * @param lost see the record
     * @param exchanges see the record
     * @param failedExchanges see the record
     * @param renewals see the record
     * @param failedRenewals see the record
     * @param validUntil see the record
     */
    public SemaphoreStatistics {
        lost = Map.copyOf(lost);
    }
}
