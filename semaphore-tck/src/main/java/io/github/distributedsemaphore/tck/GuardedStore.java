package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.Fence;
import java.util.HashMap;
import java.util.Map;

/** The resource of the documentation: keeps the highest epoch per slot and refuses a lower one. */
final class GuardedStore {
    private final Map<Integer, Long> highest = new HashMap<>();

    synchronized boolean write(Fence fence) {
        long known = highest.getOrDefault(fence.slot(), Long.MIN_VALUE);
        if (fence.epoch() < known) {
            return false;
        }
        highest.put(fence.slot(), fence.epoch());
        return true;
    }
}
