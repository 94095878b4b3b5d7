package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.redis.RedisLayout.HoldNote;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.Pause;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.RedisWire;
import io.github.distributedsemaphore.redis.net.Replicas;
import io.github.distributedsemaphore.redis.net.Replies;
import io.github.distributedsemaphore.redis.net.Reply;
import io.github.distributedsemaphore.spi.Hold;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Finds out from the server what a session holds, after its own account of it became unsure: an exchange had no answer, an offer did
 * not arrive. For one thread at a time.
 */
final class Reconciliation {
    private final RedisLayout layout;
    private final RedisLiveness liveness;
    private final Ledger ledger;
    private final Planner planner;
    private final ArmedWire wire;

    /** The connections on which something may be under way: an exchange of unknown outcome, or what was given back in the background. */
    private final Set<RedisWire> withoutReply = new HashSet<>();

    Reconciliation(RedisLayout layout, RedisLiveness liveness, Planner planner, ArmedWire wire) {
        this.layout = layout;
        this.liveness = liveness;
        this.ledger = liveness.ledger();
        this.planner = planner;
        this.wire = wire;
    }

    /** What was sent last may be under way. */
    void noReplyOnLast() {
        RedisWire last = wire.last();
        if (last != null) {
            withoutReply.add(last);
        }
    }

    /** Whether something may be under way. */
    boolean isDue() {
        return !withoutReply.isEmpty();
    }

    /** Nothing is under way any more, and what it did is known. */
    void done() {
        withoutReply.clear();
    }

    /** What was given back without a reply must not come when the session holds that slot again. */
    void outliveGivingBack(Attempt attempt, Deadline deadline) {
        if (!isDue()) {
            return;
        }
        try {
            if (outlive(deadline)) {
                settleReleases(attempt, attempt.owed(), wire.rearm(0, deadline), deadline);
            }
            done();
            planner.forgetPlace();
        } catch (RuntimeException e) {
            noReplyOnLast();
            throw e;
        }
    }

    /**
     * Makes sure that nothing is done any more that was sent before. The server ends the connections on which it may be under way.
     * Where that cannot be had, the session goes on under another name: then nothing is found that could be moved.
     *
     * @return false if the session is not among the living
     */
    boolean outlive(Deadline deadline) {
        if (!isDue() || !wire.outlive(withoutReply, deadline)) {
            return rename(deadline);
        }
        learnName(deadline);
        // Whether it stands in the queue is not known.
        CommandBatch batch = new CommandBatch();
        int left = batch.add(RedisVerb.ZREM, layout.waiters(), liveness.client());
        Reply unused = wire.ask(batch, deadline).get(left);
        return wire.rearm(0, deadline).isMember();
    }

    /** Finds out whether the session has the name that it tried to take; returns whether it has. */
    private boolean learnName(Deadline deadline) {
        String uncertain = liveness.uncertainName();
        if (uncertain == null) {
            return false;
        }
        CommandBatch question = new CommandBatch();
        int score = question.add(RedisVerb.ZSCORE, layout.lives(), uncertain);
        boolean alive = !wire.ask(question, deadline).get(score).isNil();
        liveness.endRename(alive);
        return alive;
    }

    private boolean rename(Deadline deadline) {
        boolean unused = learnName(deadline);
        for (int failures = 0; ; failures++) {
            long start = System.nanoTime();
            // First: a renewal that came after the deadline was read would be taken back.
            String name = liveness.beginRename();
            View view = readToRename(deadline);
            boolean alive = view.isMember();
            if (!alive && view.control() == null) {
                liveness.endRename(false);
                return false;
            }
            CommandBatch batch = new CommandBatch().multi();
            if (alive) {
                liveness.rename(batch, name, view);
            }
            // Its first transaction, with which it begins to live, may be under way. It finds the control touched, or
            // has come before.
            RedisPruning.touch(batch, layout, view.control());
            batch.exec();
            boolean done = wire.commit(batch, deadline);
            liveness.endRename(done && alive);
            if (done && (alive || !wire.rearm(0, deadline).isMember())) {
                return alive;
            }
            // Many may have lost their replies at once, and each that takes another name makes the others fail.
            Pause.backOff(System.nanoTime() - start, failures, deadline);
        }
    }

    private View readToRename(Deadline deadline) {
        try {
            return wire.rearm(0, deadline);
        } catch (RuntimeException e) {
            liveness.endRename(false);
            throw e;
        }
    }

    /** What is in the session's set is held by it, and nothing else is. */
    void settle(Attempt attempt, View view, Deadline deadline) {
        settleReleases(attempt, List.copyOf(attempt.toGiveBack()), view, deadline);
        if (attempt.isDoubtful()) {
            List<Hold> taken = attempt.taken();
            attempt.forget(taken);
            attempt.toGiveBack().addAll(taken.stream().filter(ledger::has).toList());
        }
        adopt(attempt, view, deadline);
        if (attempt.isDoubtful()) {
            attempt.giveBackSpare();
        }
        attempt.serve();
    }

    /**
     * Finds out which of these were given back without a reply.
     *
     * @param released all or some of what the exchange is to give back
     */
    private void settleReleases(Attempt attempt, List<Hold> released, View view, Deadline deadline) {
        Set<Integer> mine = view.mine() == null ? Set.of() : view.mine();
        Set<Hold> gone = new HashSet<>(released);
        List<Hold> there =
                released.stream().filter(hold -> mine.contains(hold.slot())).toList();
        there.forEach(gone::remove);
        gone.addAll(cameBack(there, deadline));
        gone.forEach(ledger::remove);
        attempt.toGiveBack().removeAll(gone);
        // Nobody was told of these, since that comes after the reply.
        attempt.freed(gone.size());
    }

    /** Others may have had the slot meanwhile, and handed it to this session. Then it is a new hold. */
    private List<Hold> cameBack(List<Hold> there, Deadline deadline) {
        if (there.isEmpty()) {
            return List.of();
        }
        List<Integer> slots = there.stream().map(Hold::slot).toList();
        CommandBatch batch = new CommandBatch();
        int notes = batch.add(RedisVerb.HMGET, layout.notesOf(liveness.client()), slots);
        Replies replies = wire.ask(batch, deadline);
        List<Hold> again = new ArrayList<>();
        for (int i = 0; i < slots.size(); i++) {
            HoldNote note = HoldNote.parse(replies.get(notes).list().get(i).textOrNull());
            if (note != null && note.first() > there.get(i).lastEpoch()) {
                again.add(there.get(i));
            }
        }
        return again;
    }

    /** Takes up slots in the session's set that it does not know of: by lost transactions, and by offers that did not arrive. */
    void adopt(Attempt attempt, View view, Deadline deadline) {
        List<Integer> slots = surplus(view);
        if (slots.isEmpty()) {
            return;
        }
        CommandBatch batch = new CommandBatch();
        int notes = batch.add(RedisVerb.HMGET, layout.notesOf(liveness.client()), slots);
        int counts = batch.add(RedisVerb.HMGET, layout.epochs(), slots);
        Replies replies = wire.ask(batch, deadline);
        List<Hold> found = new ArrayList<>();
        long base = view.control() == null ? 0 : view.control().base();
        for (int i = 0; i < slots.size(); i++) {
            HoldNote note = HoldNote.parse(replies.get(notes).list().get(i).textOrNull());
            String stored = replies.get(counts).list().get(i).textOrNull();
            long count = Reply.digits(stored);
            boolean damaged = stored != null && count < 0;
            Hold hold = damaged ? new Hold(slots.get(i), 0, 0) : adopted(slots.get(i), note, Math.max(0, count), base);
            boolean used = hold.lastEpoch() <= ledger.lastEpoch(hold.slot());
            ledger.add(hold);
            (damaged || used || isOfFormerServer(note, base) ? attempt.toGiveBack() : found).add(hold);
        }
        planner.losePlace();
        attempt.spare().addAll(found);
    }

    /**
     * A server that took over without the last writes shows slots that this session has given back, and that others may have had
     * since: their epochs are used up.
     */
    private static boolean isOfFormerServer(@Nullable HoldNote note, long base) {
        return note != null && note.base() != base;
    }

    private Hold adopted(int slot, @Nullable HoldNote note, long count, long base) {
        HoldNote known = note == null ? new HoldNote(1, base, 0, HoldNote.BY_COUNT) : note;
        if (known.first() != HoldNote.BY_COUNT && known.first() <= ledger.lastEpoch(slot)) {
            known = new HoldNote(1, base, 0, HoldNote.BY_COUNT);
        }
        return known.hold(slot, count);
    }

    List<Integer> surplus(View view) {
        Set<Integer> mine = view.mine();
        return mine == null
                ? List.of()
                : mine.stream().filter(slot -> ledger.holdOf(slot) == null).toList();
    }

    /**
     * What the lost transaction may have granted counts only if it would count otherwise. WAIT is about what its own connection wrote,
     * and this one may have written nothing. So the deadline of this session moves, by as little as it can: that is sent to the replicas
     * each time, after the lost transaction, and makes no key.
     */
    void requireConfirmed(Deadline deadline) {
        Replicas replicas = liveness.replicas();
        if (replicas.needed() > 0) {
            CommandBatch batch = new CommandBatch();
            int written = batch.add(RedisVerb.ZADD, layout.lives(), "XX", "INCR", "1", liveness.client());
            batch.confirm(replicas);
            Replies replies = wire.ask(batch, deadline);
            replies.get(written);
            replies.requireReplicas();
        }
    }
}
