package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The books of one session: what each transaction took and gave back, and how sure it is that what is in the books is in the
 * server. For one thread at a time.
 */
final class HoldBook {
    private final RedisLayout layout;
    private final RedisLiveness liveness;
    private final ArmedWire wire;
    private final SlotChoice choice;

    /** Slots of exchanges that failed half-way, which nobody knows of but this session; they go back with the next. */
    private final Queue<Hold> strays = new ArrayDeque<>();

    /** Under which chain of watches a hold was known to be there; see {@link ArmedWire#chain}. */
    private final Map<Hold, Long> seen = new HashMap<>();

    /** Given back by exchanges that failed after that: their callers do not know it yet, and ask for it again. */
    private final Set<Hold> returned = new HashSet<>();

    HoldBook(RedisLayout layout, RedisLiveness liveness, ArmedWire wire, SlotChoice choice) {
        this.layout = layout;
        this.liveness = liveness;
        this.wire = wire;
        this.choice = choice;
    }

    /** Begins an exchange. */
    Attempt begin(ExchangeRequest request) {
        Set<Hold> done = new HashSet<>(returned);
        done.retainAll(request.giveBack());
        returned.removeAll(done);
        Attempt attempt = new Attempt(request, holds(), done);
        takeUpStrays(attempt);
        return attempt;
    }

    /** An exchange failed: what it has done of the giving back is not to be told as lost when it is asked for again. */
    void failed(Attempt attempt) {
        attempt.request().giveBack().stream()
                .filter(hold -> !holds().contains(hold) && !attempt.lost().contains(hold))
                .forEach(returned::add);
    }

    /** What this session holds. */
    Set<Hold> holds() {
        return liveness.holds().keySet();
    }

    List<Hold> strays() {
        return List.copyOf(strays);
    }

    /** What could not be given back goes back with this exchange. */
    void takeUpStrays(Attempt attempt) {
        while (!strays.isEmpty()) {
            attempt.toGiveBack().add(strays.remove());
        }
    }

    /** Keeps what this exchange has and its caller does not know of. */
    void stray(Attempt attempt, Collection<Hold> taken) {
        strays.addAll(taken);
        attempt.toGiveBack().stream()
                .filter(hold -> !attempt.request().giveBack().contains(hold))
                .forEach(strays::add);
        attempt.spare().clear();
    }

    /** Keeps of these what is held still. */
    void strayAgain(Collection<Hold> taken) {
        taken.stream().filter(holds()::contains).forEach(strays::add);
    }

    /** The transaction was done: what it gave back is free. */
    void released(Attempt attempt, Step step) {
        if (step.releases().isEmpty()) {
            return;
        }
        attempt.freed(step.freed().size(), step.untold());
        for (Hold hold : attempt.toGiveBack()) {
            liveness.holds().remove(hold);
            seen.remove(hold);
            choice.released(hold.slot());
        }
        attempt.toGiveBack().clear();
    }

    /** The transaction was done: what it took is to be given to the callers. */
    void take(Attempt attempt, Step step, Step.Sent sent, Replies replies) {
        for (int i = 0; i < step.claims().size(); i++) {
            Step.Claim claim = step.claims().get(i);
            if (replies.errorInside(sent.taken().get(i)) != null) {
                continue;
            }
            if (replies.get(sent.taken().get(i)).number() == 0) {
                attempt.miss();
            } else if (replies.errorInside(sent.counts().get(i)) != null) {
                strays.add(taken(claim, 0));
            } else {
                attempt.spare()
                        .add(taken(claim, replies.get(sent.counts().get(i)).number()));
            }
        }
    }

    private Hold taken(Step.Claim claim, long count) {
        return booked(claim.slot(), claim.value(), count);
    }

    private Hold booked(int slot, HoldValue value, long count) {
        long first = Math.max(0, value.firstEpoch(count));
        Hold hold = new Hold(slot, first, first + value.run() - 1);
        liveness.holds().put(hold, value);
        seen.put(hold, wire.chain());
        return hold;
    }

    /** Finds out what became of a transaction, now that it cannot be done any more if it was not. */
    void settle(Attempt attempt, Step step, Deadline deadline) {
        List<Integer> slots = new ArrayList<>(step.releases());
        step.claims().forEach(claim -> slots.add(claim.slot()));
        if (slots.isEmpty()) {
            return;
        }
        CommandBatch batch = new CommandBatch();
        int stored = batch.add(RedisVerb.HMGET, Step.slots(layout.holds(), slots));
        int counts = batch.add(RedisVerb.HMGET, Step.slots(layout.epochs(), slots));
        Replies replies = wire.ask(batch, deadline);
        settle(
                attempt,
                step,
                slots,
                replies.get(stored).list(),
                replies.get(counts).list());
    }

    private void settle(Attempt attempt, Step step, List<Integer> slots, List<Reply> stored, List<Reply> counts) {
        int released = step.releases().size();
        for (int i = 0; i < step.claims().size(); i++) {
            Step.Claim claim = step.claims().get(i);
            if (claim.value().toString().equals(stored.get(released + i).textOrNull())) {
                attempt.spare().add(taken(claim, counts.get(released + i).number()));
            }
        }
        for (int i = 0; i < released; i++) {
            int slot = slots.get(i);
            String found = stored.get(i).textOrNull();
            attempt.toGiveBack().removeIf(hold -> hold.slot() == slot && isGone(hold, found));
        }
    }

    /**
     * What is to be given back and may not be there any more: somebody touched the control key since it was seen, and an
     * operator may have taken single slots away.
     */
    List<Hold> doubtful(Attempt attempt) {
        return attempt.toGiveBack().stream()
                .filter(hold -> !Long.valueOf(wire.chain()).equals(seen.get(hold)))
                .toList();
    }

    /** Looks whether these are still there, under the present watch. */
    void verify(Attempt attempt, List<Hold> doubtful, Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        int stored = batch.add(
                RedisVerb.HMGET,
                Step.slots(layout.holds(), doubtful.stream().map(Hold::slot).toList()));
        List<Reply> values = wire.ask(batch, deadline).get(stored).list();
        for (int i = 0; i < doubtful.size(); i++) {
            Hold hold = doubtful.get(i);
            if (isGone(hold, values.get(i).textOrNull())) {
                attempt.toGiveBack().remove(hold);
                attempt.lost().add(hold);
            } else {
                seen.put(hold, wire.chain());
            }
        }
    }

    /**
     * The server is another one, or another life of the same, and may lack the last of what was done: what it counts as held by
     * this session, which has long given it back, goes back once more.
     */
    void reconcile(Attempt attempt, Deadline deadline) {
        giveBackUnknown(attempt, stored(deadline));
    }

    /**
     * Nobody knows how far this exchange came. What it was to give back is given back if it is not there; what it took is for
     * nobody, and goes back.
     *
     * @param lastNumber the number of the last hold before this exchange
     */
    void recover(Attempt attempt, long lastNumber, Deadline deadline) {
        attempt.forgetTaken();
        liveness.holds().values().removeIf(value -> value.number() > lastNumber);
        seen.keySet().retainAll(holds());
        Map<Integer, String> stored = stored(deadline);
        attempt.toGiveBack().removeIf(hold -> isGone(hold, stored.get(hold.slot())));
        giveBackUnknown(attempt, stored);
    }

    private Map<Integer, String> stored(Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        int all = batch.add(RedisVerb.HGETALL, layout.holds());
        List<Reply> holds = wire.ask(batch, deadline).get(all).list();
        Map<Integer, String> stored = new HashMap<>();
        for (int i = 0; i + 1 < holds.size(); i += 2) {
            stored.put(
                    ArmedState.slot(layout, holds.get(i).text()),
                    holds.get(i + 1).text());
        }
        return stored;
    }

    private void giveBackUnknown(Attempt attempt, Map<Integer, String> stored) {
        Set<HoldValue> known = new HashSet<>(liveness.holds().values());
        stored.forEach((slot, text) -> HoldValue.parse(text)
                .filter(value -> value.client().equals(liveness.client()) && !known.contains(value))
                .ifPresent(value -> attempt.toGiveBack().add(booked(slot, value, 0))));
    }

    private boolean isGone(Hold hold, @Nullable String found) {
        HoldValue value = liveness.holds().get(hold);
        boolean gone = value == null || !value.toString().equals(found);
        if (gone) {
            liveness.holds().remove(hold);
            seen.remove(hold);
        }
        return gone;
    }

    /**
     * This session was given up for dead: nothing that it held is its own any more. Returns what it held besides what this
     * exchange was to give back or has taken.
     */
    Set<Hold> loseAll(Attempt attempt) {
        Set<Hold> others = new HashSet<>(holds());
        others.removeAll(attempt.toGiveBack());
        attempt.taken().forEach(others::remove);
        attempt.lost().addAll(attempt.toGiveBack());
        attempt.toGiveBack().clear();
        attempt.forgetTaken();
        liveness.startAfresh();
        seen.clear();
        returned.clear();
        return others;
    }
}
