package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import java.util.List;

/** The place of a session in the queue, as it is treated between exchanges. For the thread that may do one. */
final class QueuePlace {
    private final RedisLayout layout;
    private final RedisLiveness liveness;
    private final RedisConnections connections;
    private final ArmedWire wire;
    private final StepPlan plan;

    QueuePlace(
            RedisLayout layout, RedisLiveness liveness, RedisConnections connections, ArmedWire wire, StepPlan plan) {
        this.layout = layout;
        this.liveness = liveness;
        this.connections = connections;
        this.wire = wire;
        this.plan = plan;
    }

    /** Gives up the place; a call that came meanwhile goes to the next. */
    void leave() {
        if (plan.isQueued()) {
            Deadline deadline = connections.callDeadline();
            CommandBatch batch = new CommandBatch();
            batch.add(RedisVerb.ZREM, layout.waiters(), liveness.client());
            wire.ask(batch, deadline);
            plan.forgetPlace();
            ArmedState state = wire.rearm(false, deadline);
            Attempt nothing = Attempt.ofNobody();
            nothing.freed(state.free(), List.of());
            wire.tell(plan.wakeOthers(nothing, state));
        }
    }

    /**
     * Who was told of a slot and does not want it any more tells the next in the queue. The queue is known well enough: it was read
     * when this session left it, and whoever came after that has seen the slot free. Does not wait.
     *
     * @return false if the session is in the queue: then the slot is for it
     */
    boolean passOnTold() {
        if (plan.isQueued()) {
            return false;
        }
        wire.tell(plan.passOnTold(wire.lastKnown()));
        return true;
    }
}
