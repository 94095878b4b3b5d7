package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The slots that the session holds, and all that happens to them: a slot is granted to a call, passes to another call of this
 * client, goes back, is retired or is lost. Nothing else changes a {@link SlotHold} or ends a permit. Guarded by the
 * coordinator's lock.
 */
final class Slots {
    private static final Logger LOG = LoggerFactory.getLogger(Slots.class);

    private final HeldPermit.Owner owner;
    private final WaitQueue queue;
    private final PendingWork work;
    private final Combiner combiner;
    private final Environment environment;
    private final int mostHandOffs;
    private final long handOffNanos;

    private final Map<Hold, SlotHold> holds = new HashMap<>();

    /** Holds that were reported lost while they were not known: perhaps the answer that grants them is on its way. */
    private final Set<Hold> lostEarly = new HashSet<>();

    private Deadline expiryCheck = Deadline.NEVER;
    private Environment.@Nullable Timer expiryTimer;

    Slots(HeldPermit.Owner owner, WaitQueue queue, PendingWork work, Combiner combiner, ClientSettings settings) {
        this.owner = owner;
        this.queue = queue;
        this.work = work;
        this.combiner = combiner;
        this.environment = owner.environment();
        this.mostHandOffs = settings.handOffs();
        this.handOffNanos = mostHandOffs == 0 ? 0 : settings.handOffTime().toNanos();
    }

    List<SlotHold> all() {
        return List.copyOf(holds.values());
    }

    boolean isAnythingHeld() {
        return !holds.isEmpty();
    }

    /** How many epochs to reserve with each hold. */
    int epochs() {
        return handOffNanos == 0 ? 1 : mostHandOffs + 1;
    }

    // Granted

    /**
     * The backend granted slots to a call. If that has ended meanwhile, or the client takes no more permits, they pass to the next, or go back. The caller has them
     * {@linkplain #watchOver watched over}, after all calls have their answers.
     *
     * @param sent when that was asked for
     */
    void grant(AcquireCall call, List<Hold> granted, long sent, Deadline validUntil) {
        List<SlotHold> news = new ArrayList<>(granted.size());
        long now = environment.nanoTime();
        // An answer that took long leaves time for a run: or else a slow server gets a request for each permit, and is
        // slower.
        long takenAt = sent + Math.min(now - sent, handOffNanos);
        boolean sure = !validUntil.isPast(now);
        for (Hold hold : granted) {
            SlotHold taken = new SlotHold(hold, takenAt, validUntil);
            news.add(taken);
            sure &= !isLostEarly(taken);
        }
        RuntimeException refusal = queue.refusal();
        if (sure && !call.isDone() && refusal == null) {
            queue.remove(call);
            List<HeldPermit> permits = new ArrayList<>(news.size());
            for (SlotHold hold : news) {
                add(hold);
                permits.add(hold.issue(owner));
            }
            call.grant(List.copyOf(permits));
            return;
        }
        if (!call.isDone() && call.isOnce()) {
            call.fail(refusal == null ? Failures.late(owner.name()) : refusal);
        }
        news.stream().filter(hold -> !isLostEarly(hold)).forEach(hold -> place(hold, sent));
    }

    /**
     * Passes a grant to the next call. One that has waited since before the backend was asked may have it as its own. A later one may have
     * it only as long as a slot may pass without the backend being asked, because the limit may have been lowered since.
     */
    private void place(SlotHold hold, long sent) {
        long now = environment.nanoTime();
        AcquireCall head = queue.head();
        if (head != null
                && head.wanted() == 1
                && (head.since() - sent <= 0 || now - hold.takenAt() < handOffNanos)
                && !queue.isClosed()
                && !hold.validUntil().isPast(now)) {
            queue.remove(head);
            add(hold);
            head.grant(List.of(hold.issue(owner)));
        } else {
            giveBackUnasked(hold);
        }
    }

    private void add(SlotHold hold) {
        holds.put(hold.hold(), hold);
    }

    // Released: handed off, or given back

    /**
     * A permit is released: its slot passes to a local waiter, or goes back.
     *
     * @param inOrder whether the backend serves clients in their order
     */
    void giveUp(HeldPermit permit, PendingWork.Release release, boolean inOrder) {
        SlotHold hold = permit.hold();
        try {
            permit.markReleased();
            handOffOrGiveBack(hold, release, inOrder);
        } catch (RuntimeException | Error e) {
            if (holds.get(hold.hold()) == hold && hold.permit() == permit) {
                // Nobody has it any more, and nobody can release it once more.
                giveBackUnasked(hold);
                combiner.passOn();
            }
            throw e;
        }
    }

    private void handOffOrGiveBack(SlotHold hold, PendingWork.Release release, boolean inOrder) {
        long now = environment.nanoTime();
        AcquireCall head = queue.head();
        if (head == null || head.wanted() > 1 || queue.isClosed() || isServedElsewhere(head)) {
            if (head != null) {
                work.ask();
            }
            giveBack(release);
        } else if (mayHandOff(hold, now)) {
            List<HeldPermit> next = List.of(hold.issue(owner));
            queue.remove(head);
            head.grant(next);
            release.done(ReleaseOutcome.RELEASED);
            work.headMayHaveChanged();
        } else {
            giveBack(release);
            work.askAfterTurnOfOthers(now, inOrder);
        }
    }

    /**
     * The backend may be granting a slot at this moment, to the head or to a call that has ended since. With nobody behind the head to
     * take it, it would be held for nobody, and others be refused meanwhile. Of the calls that have ended most were served by hand-off
     * a moment ago. That more than one slot comes for them is rare, and to wait for more would end each run of hand-offs.
     */
    private boolean isServedElsewhere(AcquireCall head) {
        int free = (work.isAnyAskedForNobody() ? 1 : 0) + (head.isInFlight() ? 1 : 0);
        return !queue.areNextForOne(free);
    }

    /**
     * A slot that passes to a waiting thread of the same client is granted without the backend being asked. So this is bounded in
     * number and in time, and other clients get a turn in between.
     */
    private boolean mayHandOff(SlotHold hold, long now) {
        return hold.handOffs() < mostHandOffs
                && now - hold.takenAt() < handOffNanos
                && hold.hasEpochsLeft()
                && !hold.isRetired()
                && !hold.validUntil().isPast(now);
    }

    private void giveBack(PendingWork.Release release) {
        remove(release.hold());
        work.giveBack(release);
    }

    /** The backend does not hint a client at what it gave back itself, so it is asked again for waiting callers. */
    private void giveBackUnasked(SlotHold hold) {
        work.ask();
        giveBack(new PendingWork.Release(hold, () -> {}));
    }

    /** The client closes: every permit that is not lost is released, and what is run when a release is reported runs under the lock. */
    List<PendingWork.Release> giveBackAll(Runnable whenReported) {
        List<PendingWork.Release> releases = new ArrayList<>();
        long now = environment.nanoTime();
        for (SlotHold hold : all()) {
            HeldPermit permit = hold.permit();
            if (hold.validUntil().isPast(now)) {
                // After a long pause the client may close before the timer that tells of the loss.
                loseLate(hold);
            } else if (permit != null) {
                permit.markReleased();
            }
            PendingWork.Release release = new PendingWork.Release(hold, whenReported);
            releases.add(release);
            giveBack(release);
        }
        return releases;
    }

    private void remove(SlotHold hold) {
        holds.remove(hold.hold(), hold);
    }

    // Confirmed, or retired

    /** The backend answered to a renewal, or to a question about one permit. */
    void confirm(Collection<SlotHold> asked, Renewal renewal, long sent, boolean exchanging) {
        List<Hold> lost = new ArrayList<>();
        for (SlotHold hold : asked) {
            if (renewal.lost().contains(hold.hold())) {
                lost.add(hold.hold());
            } else if (holds.get(hold.hold()) == hold && !isOver(hold)) {
                hold.confirm(renewal.validUntil());
                hold.retireIf(renewal.retired(), sent);
            }
        }
        lose(lost, "the backend does not count it as held any more", exchanging);
    }

    /** Whether the time of a hold is over. Its permit has been invalid since, and stays so, even if the backend confirms it now. */
    private boolean isOver(SlotHold hold) {
        boolean over = hold.validUntil().isPast(environment.nanoTime());
        if (over) {
            loseUnconfirmed(hold);
        }
        return over;
    }

    /** Slots above the limit are not handed on. */
    void retireAbove(int limit) {
        for (SlotHold hold : holds.values()) {
            if (hold.hold().slot() > limit) {
                hold.retire(environment.nanoTime());
            }
        }
    }

    /** What a permit is as far as this client knows; null if it should be held, and only the backend knows. */
    @Nullable
    Verification known(HeldPermit permit) {
        if (permit.state() == HeldPermit.State.HELD) {
            if (!permit.hold().validUntil().isPast(environment.nanoTime())) {
                return null;
            }
            loseUnconfirmed(permit.hold());
        }
        return ended(permit);
    }

    /** The backend said what a permit is. */
    Verification verified(HeldPermit permit, HoldState answer, boolean exchanging) {
        Verification known = known(permit);
        if (known != null) {
            // Also if it ended while the backend was asked.
            return known;
        }
        SlotHold hold = permit.hold();
        return switch (answer) {
            case HELD -> Verification.HELD;
            case RETIRED -> {
                hold.retire(environment.nanoTime());
                yield Verification.RETIRED;
            }
            case LOST -> {
                lose(List.of(hold.hold()), "the backend was asked and does not count it as held", exchanging);
                yield Verification.LOST;
            }
        };
    }

    private static Verification ended(HeldPermit permit) {
        return permit.state() == HeldPermit.State.RELEASED ? Verification.RELEASED : Verification.LOST;
    }

    // Lost

    /**
     * The backend says that these are gone.
     *
     * @param exchanging whether an answer may be on its way that grants one of them
     */
    void lose(Collection<Hold> lost, String reason, boolean exchanging) {
        for (Hold hold : lost) {
            SlotHold found = holds.get(hold);
            if (found != null) {
                lose(found, LossCause.TAKEN_BY_BACKEND, reason);
            } else if (exchanging) {
                lostEarly.add(hold);
            }
        }
    }

    void loseAll(LossCause cause, String reason) {
        all().forEach(hold -> lose(hold, cause, reason));
    }

    /** The time is over for which it was sure. It goes back, for nobody here will use it any more. */
    private void loseUnconfirmed(SlotHold hold) {
        loseLate(hold);
        giveBackUnasked(hold);
    }

    private void loseLate(SlotHold hold) {
        lose(hold, LossCause.NOT_RENEWED_IN_TIME, "it was not renewed in time");
    }

    private void lose(SlotHold hold, LossCause cause, String reason) {
        remove(hold);
        HeldPermit permit = hold.permit();
        if (permit != null && permit.state() == HeldPermit.State.HELD) {
            // After a long pause others may say it sooner than the timer.
            boolean late = hold.validUntil().isPast(environment.nanoTime());
            int slot = hold.hold().slot();
            environment.log(() -> LOG.warn("Slot {} of semaphore '{}' is lost: {}", slot, owner.name(), reason));
            permit.markLost(late ? LossCause.NOT_RENEWED_IN_TIME : cause, reason);
        }
    }

    private boolean isLostEarly(SlotHold granted) {
        return lostEarly.contains(granted.hold());
    }

    /** An exchange is answered: no answer from before the reports so far is on its way. */
    void forgetLost() {
        lostEarly.clear();
    }

    /** The session is over, and so is what it held. */
    void forget() {
        holds.clear();
        lostEarly.clear();
    }

    /**
     * Looks at that time, or earlier, whether a permit is lost: what was granted until then is watched over. One timer only: each look
     * sets the next, so a second one would never end.
     */
    void watchOver(Deadline validUntil) {
        if (!validUntil.isBefore(expiryCheck)) {
            return;
        }
        // First, for it may find no memory: what counts as planned without a timer is never planned again.
        Environment.Timer next = combiner.later(this::checkExpiry, validUntil.nanosFrom(environment.nanoTime()));
        if (expiryTimer != null) {
            expiryTimer.cancel();
        }
        expiryCheck = validUntil;
        expiryTimer = next;
    }

    private void checkExpiry() {
        expiryCheck = Deadline.NEVER;
        expiryTimer = null;
        long now = environment.nanoTime();
        for (SlotHold hold : all()) {
            if (hold.validUntil().isPast(now)) {
                loseUnconfirmed(hold);
            } else {
                watchOver(hold.validUntil());
            }
        }
    }

    SemaphoreStatistics count(Ledger ledger) {
        int held = 0;
        Deadline validUntil = Deadline.NEVER;
        for (SlotHold hold : holds.values()) {
            HeldPermit permit = hold.permit();
            if (permit != null && permit.state() == HeldPermit.State.HELD) {
                held++;
                validUntil = validUntil.earlier(hold.validUntil());
            }
        }
        return ledger.snapshot(held, validUntil, queue.waiting());
    }
}
