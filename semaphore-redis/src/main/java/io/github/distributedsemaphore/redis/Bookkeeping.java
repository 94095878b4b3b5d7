package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.redis.RedisLayout.HoldNote;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.Replies;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.SessionListener;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Prepares the steps of a session's exchanges, and enters in the ledger what they did. For one thread at a time. */
final class Bookkeeping {
    private final RedisLayout layout;
    private final RedisLiveness liveness;
    private final SessionListener listener;
    private final Ledger ledger;
    private final Planner planner;
    private final ArmedWire wire;

    Bookkeeping(RedisLayout layout, RedisLiveness liveness, SessionListener listener, Planner planner, ArmedWire wire) {
        this.layout = layout;
        this.liveness = liveness;
        this.listener = listener;
        this.ledger = liveness.ledger();
        this.planner = planner;
        this.wire = wire;
    }

    Step.Prepared prepare(Attempt attempt, View before, Step step) {
        CommandBatch batch = new CommandBatch();
        if (!step.isBare()) {
            batch.multi();
        }
        Step.Sent sent = step.addTo(batch, layout, liveness);
        View.Reading reading;
        if (step.isBare()) {
            batch.moves();
            reading = View.Reading.ofQueue(batch, layout, liveness.client());
        } else {
            batch.exec();
            // A renewal extends the validity of what was taken before, so it needs the same confirmation.
            if (step.takes() > 0 || (step.extend() && !attempt.taken().isEmpty())) {
                batch.confirm(liveness.replicas());
            }
            // A client that waits holds no watch: it would make the transactions of all others slower.
            boolean waits = attempt.isForWaiters() && attempt.wanted() > step.takes();
            View.Watch watch = waits ? View.Watch.NONE : View.Watch.CONTROL;
            reading = wire.reading(batch, planner.depth(attempt, before, step), watch, attempt.wanted());
        }
        attempt.sent(step);
        return new Step.Prepared(batch, step, sent, reading);
    }

    /** Enters in the ledger what a step did. */
    void enter(Attempt attempt, ArmedWire.Answer answer) {
        if (!answer.done()) {
            attempt.undone();
            return;
        }
        Step step = answer.prepared().step();
        Step.Sent sent = answer.prepared().sent();
        Replies replies = answer.replies();
        attempt.done(step);
        planner.committed(step);
        if (step.join() || (step.extend() && step.base() > 0)) {
            liveness.guarded();
        }
        enterReleases(attempt, step, sent, replies);
        enterTaken(attempt, step, sent, replies);
        replies.requireReplicas();
        if (attempt.serve()) {
            planner.granted(step);
        }
        replies.requireAllDone();
        attempt.progress();
    }

    private void enterReleases(Attempt attempt, Step step, Step.Sent sent, Replies replies) {
        for (int i = 0; i < step.releases().size(); i++) {
            Hold hold = step.releases().get(i);
            int moved = sent.released().get(i);
            if (replies.error(moved) == null && gone(attempt, hold, replies.isOne(moved))) {
                attempt.freed(1);
                ledger.freed(hold.slot());
            }
        }
        for (int i = 0; i < step.hands().size(); i++) {
            int moved = sent.handed().get(i);
            if (replies.error(moved) == null) {
                gone(attempt, step.hands().get(i).from(), replies.isOne(moved));
            }
        }
    }

    /** This hold is not the session's any more. Returns whether it was before. */
    private boolean gone(Attempt attempt, Hold hold, boolean moved) {
        ledger.remove(hold);
        attempt.toGiveBack().remove(hold);
        if (!moved) {
            attempt.lost().add(hold);
            attempt.suspect();
        }
        return moved;
    }

    private void enterTaken(Attempt attempt, Step step, Step.Sent sent, Replies replies) {
        HoldNote note = step.note();
        boolean checked = step.retains().isEmpty() || replies.error(sent.retained()) == null;
        for (int i = 0; checked && i < step.retains().size(); i++) {
            Hold hold = step.retains().get(i);
            boolean there = replies.get(sent.retained()).list().get(i).number() == 1;
            if (gone(attempt, hold, there)) {
                take(attempt, hold.slot(), note, replies, sent.counts().get(i));
            }
        }
        for (int i = 0; i < step.claims().size(); i++) {
            int slot = step.claims().get(i);
            int taken = sent.taken().get(i);
            boolean known = replies.error(taken) == null;
            if (known && replies.isOne(taken)) {
                take(
                        attempt,
                        slot,
                        note,
                        replies,
                        sent.counts().get(step.retains().size() + i));
            } else if (known) {
                attempt.miss();
            }
        }
    }

    private void take(Attempt attempt, int slot, HoldNote note, Replies replies, int count) {
        if (replies.error(count) == null) {
            Hold hold = note.hold(slot, replies.get(count).number());
            announce(ledger.add(hold));
            attempt.spare().add(hold);
        } else {
            Hold nameless = new Hold(slot, 0, 0);
            ledger.add(nameless);
            ledger.owe(List.of(nameless));
        }
    }

    /** The slot was this session's already, by its own account, and free by the server's. */
    private void announce(@Nullable Hold lost) {
        if (lost != null) {
            listener.lost(List.of(lost), "the slot was taken away from this client");
        }
    }

    /** Its slot was handed to this session again: it was given back without a reply, or somebody took it away. */
    void over(Attempt attempt, Hold former) {
        if (!attempt.toGiveBack().remove(former)) {
            announce(former);
        } else if (!attempt.isResolved()) {
            attempt.lost().add(former);
        }
    }

    /** Other clients have removed this session as dead: it holds nothing any more. */
    void loseAll(Attempt attempt) {
        attempt.lost().addAll(attempt.toGiveBack());
        List<Hold> taken = attempt.taken();
        planner.buried(liveness.client());
        Set<Hold> others = liveness.startAfresh();
        others.removeAll(attempt.toGiveBack());
        taken.forEach(others::remove);
        attempt.toGiveBack().clear();
        attempt.forget(taken);
        if (!others.isEmpty()) {
            listener.lost(others, "this client was not heard of in time, and others were given its slots");
        }
    }
}
