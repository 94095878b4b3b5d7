package io.github.distributedsemaphore.tck.watch;

import io.github.distributedsemaphore.Fence;
import java.util.HashMap;
import java.util.Map;

/** The resource of the documentation: keeps the highest epoch per slot and refuses a lower one. */
public final class GuardedStore {
    private final Map<Integer, Long> highest = new HashMap<>();

    /** Makes a store to which nothing was written. */
    public GuardedStore() {}

    /**
     * Writes, unless somebody with a higher epoch has.
     *
     * @param fence the writer's
     * @return whether it was written
     */
    public synchronized boolean write(Fence fence) {
        long known = highest.getOrDefault(fence.slot(), Long.MIN_VALUE);
        if (fence.epoch() < known) {
            return false;
        }
        highest.put(fence.slot(), fence.epoch());
        return true;
    }
}
