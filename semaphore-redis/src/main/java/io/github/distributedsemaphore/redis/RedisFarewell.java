package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import java.util.ArrayList;
import java.util.List;

/**
 * The end of a session in order: everything that is stored of it goes, in one transaction. What it holds is looked up, because
 * there may be slots that it took without learning of it.
 */
final class RedisFarewell {
    private final RedisLayout layout;
    private final RedisLiveness liveness;
    private final ArmedWire wire;

    RedisFarewell(RedisLayout layout, RedisLiveness liveness, ArmedWire wire) {
        this.layout = layout;
        this.liveness = liveness;
        this.wire = wire;
    }

    void say(Deadline deadline) {
        ArmedState state = wire.rearm(false, deadline);
        while (state.isMember()) {
            List<Integer> slots = held(deadline);
            CommandBatch batch = new CommandBatch().multi();
            if (!slots.isEmpty()) {
                batch.add(RedisVerb.HDEL, Step.slots(layout.holds(), slots));
            }
            batch.add(RedisVerb.ZREM, layout.lives(), liveness.client());
            batch.add(RedisVerb.HDEL, layout.members(), liveness.client());
            batch.add(RedisVerb.ZREM, layout.waiters(), liveness.client());
            if (state.control() != null) {
                // Who leaves touches: see RedisPruning.
                batch.add(RedisVerb.HINCRBY, layout.control(), RedisLayout.CHANGES_FIELD, "1");
            }
            wake(batch, state, slots);
            batch.exec();
            ArmedWire.Answer answer = wire.commit(batch, false, deadline);
            boolean left = answer.replies().committed();
            state = answer.state(deadline);
            if (left) {
                wakeMissed(state, slots);
                break;
            }
        }
        if (state.control() == null) {
            new RedisPruning(layout, wire.forOther(deadline)).sweep(deadline);
        }
    }

    private List<Integer> held(Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        int stored = batch.add(RedisVerb.HGETALL, layout.holds());
        List<Reply> holds = wire.ask(batch, deadline).get(stored).list();
        List<Integer> slots = new ArrayList<>();
        for (int i = 0; i + 1 < holds.size(); i += 2) {
            if (HoldValue.clientOf(holds.get(i + 1).text()).equals(liveness.client())) {
                slots.add(ArmedState.slot(layout, holds.get(i).text()));
            }
        }
        return slots;
    }

    private void wake(CommandBatch batch, ArmedState state, List<Integer> slots) {
        List<String> others = new ArrayList<>(state.waiters());
        others.remove(liveness.client());
        for (int i = 0; i < slots.size() && i < others.size(); i++) {
            batch.add(
                    RedisVerb.PUBLISH,
                    layout.channelOf(others.get(i)),
                    slots.get(i).toString());
        }
    }

    /** Who joined the queue after the watch began. */
    private void wakeMissed(ArmedState state, List<Integer> slots) {
        CommandBatch batch = new CommandBatch();
        for (int i = 0; i < slots.size() && i < state.waiters().size(); i++) {
            batch.add(RedisVerb.PUBLISH, layout.channelOf(state.waiters().get(i)), "0");
        }
        wire.tell(batch);
    }
}
