package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import java.util.List;

/**
 * Brings the answers of the backend to the calls they are for. A call may have ended while the backend was asked: what was
 * granted to it then passes to the next waiter, or goes back. Guarded by the coordinator's lock.
 */
final class Settlement {
    private final Coordinator coordinator;
    private final WaitQueue queue;
    private final SessionKeeper keeper;
    private final Exchanges exchanges;
    private final PendingWork work;
    private final Environment environment;

    Settlement(
            Coordinator coordinator,
            WaitQueue queue,
            SessionKeeper keeper,
            Exchanges exchanges,
            PendingWork work,
            Environment environment) {
        this.coordinator = coordinator;
        this.queue = queue;
        this.keeper = keeper;
        this.exchanges = exchanges;
        this.work = work;
        this.environment = environment;
    }

    /** Returns whether it was granted. */
    boolean answer(AcquireCall waiter, Answer answer, Batch batch, ExchangeResult result) {
        if (answer instanceof Answer.Granted granted) {
            grant(waiter, granted.holds(), batch, result);
            return true;
        }
        if (waiter.isDone()) {
            return false;
        }
        if (answer instanceof Answer.NotDone) {
            work.ask();
            if (waiter.isOnce()) {
                waiter.fail(Failures.requestLost(coordinator.name()));
            }
        } else if (answer instanceof Answer.Full) {
            if (waiter.isOnce()) {
                waiter.refuse();
            }
        } else {
            queue.remove(waiter);
            waiter.fail(
                    answer instanceof Answer.ExceedsLimit exceeded
                            ? Failures.exceedsLimit(coordinator.name(), waiter.wanted(), exceeded.limit())
                            : Failures.missing(coordinator.name()));
            work.ask();
        }
        return false;
    }

    private void grant(AcquireCall waiter, List<Hold> granted, Batch batch, ExchangeResult result) {
        if (batch.generation() != keeper.generation()) {
            // Granted to a session that has ended since: nothing is held.
            if (!waiter.isDone() && waiter.isOnce()) {
                waiter.fail(Failures.sessionLost(coordinator));
            }
            return;
        }
        Deadline validUntil = result.validUntil();
        long takenAt = result.sent().orElse(batch.sent());
        List<SlotHold> holds = granted.stream()
                .map(hold -> new SlotHold(hold, takenAt, validUntil))
                .toList();
        boolean sure =
                !validUntil.isPast(environment.nanoTime()) && holds.stream().noneMatch(keeper::isLost);
        if (sure && !waiter.isDone() && !coordinator.isClosed()) {
            queue.remove(waiter);
            holds.forEach(keeper::add);
            waiter.grant(holds.stream().map(hold -> hold.issue(coordinator)).toList());
            return;
        }
        if (!waiter.isDone() && waiter.isOnce()) {
            waiter.fail(
                    coordinator.isClosed() ? Failures.closed(coordinator.name()) : Failures.late(coordinator.name()));
        }
        holds.stream().filter(hold -> !keeper.isLost(hold)).forEach(this::place);
    }

    /** A slot was granted to a call that has ended: it passes to the next, or goes back. */
    private void place(SlotHold hold) {
        AcquireCall head = queue.head();
        if (head != null
                && head.wanted() == 1
                && !coordinator.isClosed()
                && !hold.validUntil().isPast(environment.nanoTime())) {
            queue.remove(head);
            keeper.add(hold);
            head.grant(List.of(hold.issue(coordinator)));
        } else {
            exchanges.giveBackUnasked(hold);
        }
    }
}
