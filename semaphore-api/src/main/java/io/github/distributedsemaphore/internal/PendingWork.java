package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the backend is to be asked next, and whether it is time for it. Guarded by the coordinator's lock. */
final class PendingWork {
    private final WaitQueue queue;
    private final Environment environment;
    private final long turnNanos;

    private final List<Release> releases = new ArrayList<>();
    private boolean returnsDue;

    /** How many of them, counted from the first, were due and found no room in the last request. */
    private int leftOut;

    /** The waiters are to be asked for. */
    private boolean ask;

    /** Until then other clients have their turn. */
    private Deadline notBefore;

    /** Other clients have a turn, or have had it and this client has not asked since. */
    private boolean leavesTurn;

    private boolean othersWaiting;

    /** An exchange of unknown outcome; nothing else is asked before that is known. */
    private @Nullable Batch unresolved;

    private boolean resolveDue;

    /** The backend does not answer: it is not asked for waiting callers before the next {@link #retry}. */
    private boolean paused;

    /** The calls that the exchange under way is for. */
    private List<AcquireCall> asked = List.of();

    /** What else is to be done at the backend, such as to close an old session. */
    private final Deque<Runnable> chores = new ArrayDeque<>();

    PendingWork(WaitQueue queue, Environment environment, ClientSettings settings) {
        this.queue = queue;
        this.environment = environment;
        this.turnNanos = settings.turn().toNanos();
        this.notBefore = Deadline.at(environment.nanoTime());
    }

    /** A call with one attempt, or the first to wait: reason to ask the backend. */
    void arrived(AcquireCall call) {
        ask |= !call.isOnce();
        resolveDue |= call.isOnce() || !paused;
    }

    void pause() {
        paused = true;
    }

    /** The backend is there, or says something by itself: it is asked for waiting callers. */
    void resume() {
        paused = false;
        ask = true;
    }

    void chore(Runnable chore) {
        chores.add(chore);
    }

    @Nullable
    Runnable takeChore() {
        return chores.poll();
    }

    void ask() {
        ask = true;
    }

    /** A call left the queue. The new head may not have been sent to the backend yet. */
    void headMayHaveChanged() {
        AcquireCall head = queue.head();
        ask |= head != null && !head.isAttempted();
    }

    void giveBack(Release release) {
        releases.add(release);
        returnsDue = true;
        resolveDue = true;
    }

    /** These could not be given back: they stay pending until there is another reason, or {@link #retry}. */
    void keep(List<Release> postponed) {
        releases.addAll(postponed);
    }

    List<Release> pending() {
        return List.copyOf(releases);
    }

    List<Release> takePending() {
        List<Release> taken = takeFirst(releases.size());
        leftOut = 0;
        return taken;
    }

    private List<Release> takeFirst(int number) {
        List<Release> first = releases.subList(0, number);
        List<Release> taken = List.copyOf(first);
        first.clear();
        return taken;
    }

    /** Postpones what found no room in the last request, as that failed: it stays pending until {@link #retry}. */
    List<Release> postponeLeftOut() {
        List<Release> postponed = List.copyOf(releases.subList(0, leftOut));
        returnsDue = releases.size() > leftOut;
        leftOut = 0;
        return postponed;
    }

    void retry() {
        resume();
        returnsDue = true;
        resolveDue = true;
    }

    /** The backend said whether other clients wait. */
    void othersWait(boolean waiting) {
        othersWaiting = waiting;
    }

    /**
     * A slot went back while others of this client wait: ask for it again, after other clients have had a turn.
     *
     * @param inOrder whether the backend sees to that
     */
    void askAfterTurnOfOthers(long now, boolean inOrder) {
        ask = true;
        // One release after the other would put the end of a turn off.
        if (othersWaiting && !inOrder && turnNanos > 0 && !leavesTurn) {
            leavesTurn = true;
            notBefore = Deadline.at(now + turnNanos / 2 + environment.random(turnNanos));
        }
    }

    @Nullable
    Batch unresolved() {
        return unresolved;
    }

    void resolveFirst(Batch batch) {
        unresolved = batch;
        resolveDue = true;
    }

    void resolved() {
        unresolved = null;
    }

    /** Takes the exchange whose outcome is to be found out now: it is not due again before somebody says so. */
    @Nullable
    Batch takeUnresolved() {
        resolveDue = false;
        return unresolved;
    }

    /** Whether something is to be given back, or to be found out. */
    boolean isAnythingOwed() {
        return unresolved != null || !releases.isEmpty() || queue.hasAttempts();
    }

    boolean isDue() {
        if (unresolved != null) {
            return resolveDue;
        }
        return isCallerDue() || !chores.isEmpty() || mayAskForWaiters();
    }

    /** Whether an exchange is due for calls that end with its answer: an attempt, or a release. */
    boolean isCallerDue() {
        return queue.hasAttempts() || (returnsDue && !releases.isEmpty());
    }

    private boolean isToAsk() {
        return ask && !paused && queue.isAnyoneWaiting();
    }

    private boolean mayAskForWaiters() {
        return isToAsk() && notBefore.isPast(environment.nanoTime());
    }

    /** Whether the exchange under way may bring something for a call that has ended since it began. */
    boolean isAnyAskedForNobody() {
        for (AcquireCall call : asked) {
            if (call.isInFlight() && call.isDone()) {
                return true;
            }
        }
        return false;
    }

    /** No exchange is under way any more: its calls are forgotten, with their threads and futures. */
    void answered() {
        asked = List.of();
    }

    /** When the turn of the others is over, after which there is something to ask; never if there is nothing. */
    Deadline askLater() {
        return isToAsk() ? notBefore : Deadline.NEVER;
    }

    /**
     * Takes what is due into a request, as far as there is room in one.
     *
     * @param epochs how many to reserve with each hold
     * @param generation the session it is for
     */
    Batch collect(int epochs, int generation) {
        List<AcquireCall> calls = queue.takeAttempts(WaitQueue.MOST_PER_EXCHANGE);
        if (mayAskForWaiters()) {
            ask = false;
            leavesTurn = false;
            calls.addAll(queue.front());
        }
        calls.forEach(AcquireCall::sent);
        asked = calls;
        List<Release> taken = takeFirst(Math.min(releases.size(), ExchangeRequest.MOST_GIVE_BACKS));
        leftOut = releases.size();
        returnsDue = leftOut > 0;
        return Batch.of(taken, calls, epochs, queue.isAnyoneWaiting(), generation, environment.nanoTime());
    }

    /**
     * One exchange and all that it is done for.
     *
     * @param releases the holds to give back
     * @param calls the callers that want permits, in the order of the request: first those with one attempt
     * @param request what is asked
     * @param generation the session it was collected for
     * @param sent when, in nanoseconds of the environment
     */
    record Batch(List<Release> releases, List<AcquireCall> calls, ExchangeRequest request, int generation, long sent) {
        static Batch of(
                List<Release> releases,
                List<AcquireCall> calls,
                int epochs,
                boolean waiting,
                int generation,
                long sent) {
            List<Hold> giveBack = new ArrayList<>(releases.size());
            for (Release release : releases) {
                giveBack.add(release.hold().hold());
            }
            List<Integer> wants = new ArrayList<>(calls.size());
            int attempts = 0;
            boolean leading = true;
            for (AcquireCall call : calls) {
                leading &= call.isOnce();
                attempts += leading ? 1 : 0;
                wants.add(call.wanted());
            }
            ExchangeRequest request = new ExchangeRequest(giveBack, wants, epochs, waiting, attempts);
            return new Batch(List.copyOf(releases), List.copyOf(calls), request, generation, sent);
        }

        /** Ends the calls that had one attempt, unless they have ended. */
        void failAttempts(RuntimeException failure) {
            calls.stream()
                    .filter(AcquireCall::isOnce)
                    .filter(call -> !call.isDone())
                    .forEach(call -> call.fail(failure));
        }

        /** Returns an answer that fits the request; one that does not says nothing about what was done. */
        ExchangeResult checked(ExchangeResult result) {
            List<Integer> wants = request.wants();
            boolean fits = result.answers().size() == wants.size();
            for (int i = 0; fits && i < wants.size(); i++) {
                fits = !(result.answers().get(i) instanceof Answer.Granted granted)
                        || granted.holds().size() == wants.get(i);
            }
            if (!fits) {
                throw new IllegalStateException("the backend answered " + result.answers() + " to wants of " + wants);
            }
            return result;
        }
    }

    /**
     * A hold on its way back to the backend. It stays pending until the backend confirmed it, also when the caller that
     * released it has ended because this could not be confirmed in time. Guarded by the coordinator's lock; {@link
     * #isReported} may be asked by any thread, and the outcome read once it is reported.
     */
    static final class Release {
        private final SlotHold hold;
        private final Runnable wake;
        private volatile boolean reported;
        private ReleaseOutcome outcome = ReleaseOutcome.RELEASED;
        private @Nullable RuntimeException failure;

        Release(SlotHold hold, Runnable wake) {
            this.hold = hold;
            this.wake = wake;
        }

        SlotHold hold() {
            return hold;
        }

        boolean isReported() {
            return reported;
        }

        void done(ReleaseOutcome found) {
            if (!reported) {
                outcome = found;
                report();
            }
        }

        void failed(RuntimeException cause) {
            if (!reported) {
                failure = cause;
                report();
            }
        }

        private void report() {
            reported = true;
            wake.run();
        }

        /** Only when reported. */
        ReleaseOutcome outcome() {
            if (failure != null) {
                throw Failures.forCaller(failure);
            }
            return outcome;
        }
    }
}
