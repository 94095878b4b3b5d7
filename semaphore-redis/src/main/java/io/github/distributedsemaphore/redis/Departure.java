package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.Reply;
import io.github.distributedsemaphore.redis.net.WireException;
import io.github.distributedsemaphore.redis.net.WireException.MovedException;
import java.util.List;

/** Takes a session out of the queue, and in the end out of all that is stored. For one thread at a time. */
final class Departure {
    private final RedisLayout layout;
    private final RedisLiveness liveness;
    private final ArmedWire wire;
    private final Planner planner;
    private final ExchangeLoop loop;
    private final Reconciliation reconciliation;

    Departure(
            RedisLayout layout,
            RedisLiveness liveness,
            ArmedWire wire,
            Planner planner,
            ExchangeLoop loop,
            Reconciliation reconciliation) {
        this.layout = layout;
        this.liveness = liveness;
        this.wire = wire;
        this.planner = planner;
        this.loop = loop;
        this.reconciliation = reconciliation;
    }

    /**
     * Gives up the place in the queue. If this fails, the session may stand there still, and hears what is meant for others.
     *
     * @return whether it had a place: then something may have been given to it for that
     */
    boolean leaveQueue(Deadline deadline) {
        boolean queued = planner.isQueued();
        if (queued) {
            removePlace(deadline);
        }
        planner.forgetPlace();
        return queued;
    }

    private void removePlace(Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        int left = batch.add(RedisVerb.ZREM, layout.waiters(), liveness.client());
        try {
            Reply unused = wire.ask(batch, deadline).get(left);
        } catch (MovedException e) {
            wire.disarm();
            RedisConnections.follow(e, deadline);
            removePlace(deadline);
        } catch (WireException e) {
            // It may be done yet: the next exchange makes sure.
            reconciliation.noReplyOnLast();
            throw e;
        }
    }

    /** The end of a session in order: everything that is stored of it goes, in one transaction. */
    void sayGoodbye(Deadline deadline) {
        View view = wire.rearm(0, deadline);
        if (!view.isMember() && reconciliation.isDue()) {
            // The transaction with which it begins to live may be under way, and would take a slot for nobody.
            boolean unused = reconciliation.outlive(deadline);
            view = wire.rearm(0, deadline);
        }
        boolean left = false;
        while (view.isMember() && !left) {
            CommandBatch batch = new CommandBatch().multi();
            RedisPruning.touch(batch, layout, view.control());
            RedisPruning.remove(batch, layout, List.of(liveness.client()), view.control() != null);
            batch.exec();
            left = wire.commit(batch, deadline);
            int freed = view.mine() == null ? 0 : view.mine().size();
            view = wire.rearm(0, deadline);
            if (left) {
                Attempt nothing = Attempt.ofNobody(false);
                nothing.freed(freed);
                loop.hint(nothing, view);
            }
        }
        if (view.control() == null) {
            new RedisPruning(layout, wire.forOther(deadline)).sweep(deadline);
        }
    }
}
