package io.github.distributedsemaphore.redis;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * What one transaction of an exchange does.
 *
 * @param releases slots of this session that become free
 * @param claims slots that it tries to take; each may turn out to be taken
 * @param sure whether it takes only what it frees itself or was told of
 * @param join whether the session begins to live
 * @param extend whether it renews its life
 * @param ticket since when it waits, to stand in the queue by it; 0 to leave the queue as it is
 * @param leaveQueue whether it leaves the queue
 * @param wakes waiting clients to wake, with the slot that each is told
 */
record Step(
        List<Integer> releases,
        List<Claim> claims,
        boolean sure,
        boolean join,
        boolean extend,
        long ticket,
        boolean leaveQueue,
        Map<String, Integer> wakes) {

    /** An attempt at one slot. */
    record Claim(int slot, HoldValue value) {}

    boolean isEmpty() {
        return releases.isEmpty() && claims.isEmpty() && !extend && ticket == 0 && !leaveQueue;
    }

    /** Slots that become free for others. */
    List<Integer> freed() {
        return releases.stream()
                .filter(slot -> claims.stream().noneMatch(claim -> claim.slot() == slot))
                .toList();
    }

    /** Those of which nobody is told. */
    List<Integer> untold() {
        return freed().stream().filter(slot -> !wakes.containsValue(slot)).toList();
    }

    /** Whether it changes the session's life or puts it in the queue. */
    boolean changesStanding() {
        return join || extend || ticket > 0;
    }

    /** The indexes of the commands whose replies say what became of the claims. */
    record Sent(int releases, List<Integer> taken, List<Integer> counts) {}

    /** Adds the commands of the transaction. */
    Sent addTo(CommandBatch batch, RedisLayout layout, RedisLiveness liveness) {
        if (join) {
            liveness.join(batch);
        } else if (extend) {
            liveness.extend(batch, liveness.client());
        }
        int released = releases.isEmpty() ? -1 : batch.add(RedisVerb.HDEL, slots(layout.holds(), releases));
        List<Integer> taken = new ArrayList<>(claims.size());
        List<Integer> counts = new ArrayList<>(claims.size());
        for (Claim claim : claims) {
            String slot = Integer.toString(claim.slot());
            taken.add(batch.add(
                    RedisVerb.HSETNX, layout.holds(), slot, claim.value().toString()));
            counts.add(batch.add(
                    RedisVerb.HINCRBY,
                    layout.epochs(),
                    slot,
                    Integer.toString(claim.value().run())));
        }
        if (ticket > 0) {
            batch.add(RedisVerb.ZADD, layout.waiters(), Long.toString(ticket), liveness.client());
        } else if (leaveQueue) {
            batch.add(RedisVerb.ZREM, layout.waiters(), liveness.client());
        }
        wakes.forEach((client, slot) -> batch.add(RedisVerb.PUBLISH, layout.channelOf(client), Integer.toString(slot)));
        return new Sent(released, taken, counts);
    }

    static String[] slots(String key, List<Integer> slots) {
        String[] arguments = new String[slots.size() + 1];
        arguments[0] = key;
        for (int i = 0; i < slots.size(); i++) {
            arguments[i + 1] = Integer.toString(slots.get(i));
        }
        return arguments;
    }
}
