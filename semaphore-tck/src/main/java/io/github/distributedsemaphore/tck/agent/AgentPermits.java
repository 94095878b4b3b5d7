package io.github.distributedsemaphore.tck.agent;

import io.github.distributedsemaphore.Fence;
import java.util.List;

/**
 * Permits that an agent took in one call.
 *
 * @param ref what the agent calls them
 * @param slots their slots
 * @param fences their fences; empty without fencing
 * @param invoked when the agent called, on the scale of {@link System#nanoTime}
 * @param returned when the call returned
 * @param validUntil up to when they were sure at return; {@link Long#MAX_VALUE} if without end
 */
public record AgentPermits(
        long ref, List<Integer> slots, List<Fence> fences, long invoked, long returned, long validUntil) {
    /**
     * Keeps unmodifiable copies.
     *
     * @param ref see the record
     * @param slots see the record
     * @param fences see the record
     * @param invoked see the record
     * @param returned see the record
     * @param validUntil see the record
     */
    public AgentPermits {
        slots = List.copyOf(slots);
        fences = List.copyOf(fences);
    }
}
