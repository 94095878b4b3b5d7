package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One exchange: what it has done, what is left of it, and what nobody knows of it yet. For one thread. */
final class Attempt {
    private static final int MOST_CONFLICTS = 32;

    private final ExchangeRequest request;
    private final @Nullable Answer[] answers;
    private final Deque<Hold> toGiveBack;
    private final Set<Hold> lost = new HashSet<>();
    private final Set<String> woken = new HashSet<>();
    private final Deque<Integer> untold = new ArrayDeque<>();

    /** Slots that were taken and are for nobody yet. */
    private final Deque<Hold> spare = new ArrayDeque<>();

    private final long startNanos = System.nanoTime();
    private boolean claiming = true;
    private boolean doubtful;
    private Answer unserved = Answer.FULL;
    private boolean missed;
    private boolean progressed;
    private boolean leftToOthers;
    private boolean joined;
    private int conflicts;
    private int freed;
    private @Nullable Step inFlight;

    /** An exchange for nobody. */
    static Attempt ofNobody() {
        return new Attempt(new ExchangeRequest(List.of(), List.of(), 1, false), Set.of(), Set.of());
    }

    /**
     * Begins an exchange.
     *
     * @param held what the session holds: what is not among it is lost
     * @param returned what was given back before without the caller being told
     */
    Attempt(ExchangeRequest request, Set<Hold> held, Set<Hold> returned) {
        this.request = request;
        this.answers = new Answer[request.wants().size()];
        this.toGiveBack = new ArrayDeque<>();
        for (Hold hold : request.giveBack()) {
            if (!returned.contains(hold)) {
                (held.contains(hold) ? toGiveBack : lost).add(hold);
            }
        }
    }

    ExchangeRequest request() {
        return request;
    }

    /** Holds to give back, those that were taken in vain among them. */
    Deque<Hold> toGiveBack() {
        return toGiveBack;
    }

    Set<Hold> lost() {
        return lost;
    }

    Deque<Hold> spare() {
        return spare;
    }

    /** What was taken and serves nobody goes back; returns false if there is nothing. */
    boolean giveBackSpare() {
        boolean any = !spare.isEmpty();
        toGiveBack.addAll(spare);
        spare.clear();
        return any;
    }

    /** The clients that were told of a free slot. */
    Set<String> woken() {
        return woken;
    }

    /** Whether the whole state was read since this exchange began, and nothing done since. */
    boolean isFresh(ArmedState state) {
        return state.complete() && state.sentNanos() - startNanos >= 0;
    }

    /** Takes no more slots: what is not served by now is refused. */
    void stopClaiming() {
        claiming = false;
    }

    /** It is found out now what this exchange did, and no more is done. */
    void resolve() {
        claiming = false;
        unserved = Answer.NOT_DONE;
    }

    /** Nobody knows how far it came, this class included. */
    void doubt() {
        doubtful = true;
    }

    boolean isDoubtful() {
        return doubtful;
    }

    boolean isClaiming() {
        return claiming;
    }

    /** Whether a slot that looked free was taken. */
    boolean hasMissed() {
        return missed;
    }

    void miss() {
        missed = true;
    }

    /** Whether something was done already, so that this cannot fail as if nothing had been. */
    boolean hasProgressed() {
        return progressed;
    }

    void progress() {
        progressed = true;
    }

    /**
     * Slots became free by this exchange.
     *
     * @param number how many
     * @param slots those among them of which nobody was told yet
     */
    void freed(int number, List<Integer> slots) {
        freed += number;
        untold.addAll(slots);
    }

    /** How many slots others are to be told of, because nobody else does. */
    int freed() {
        return freed;
    }

    /** A slot that somebody may be told of; 0 if it is not known which. */
    int nextUntold() {
        return untold.isEmpty() ? 0 : untold.removeFirst();
    }

    boolean isLeftToOthers() {
        return leftToOthers;
    }

    void leaveToOthers(boolean left) {
        leftToOthers = left;
    }

    /** The transaction that was sent and not answered. */
    @Nullable
    Step inFlight() {
        return inFlight;
    }

    void sent(Step step) {
        inFlight = step;
    }

    /** The transaction was done. */
    void done() {
        joined |= inFlight != null && inFlight.join();
        inFlight = null;
    }

    /** The transaction was not done, or nobody knows: whom it was to wake is to be woken by the next. */
    void undone() {
        if (inFlight != null) {
            woken.removeAll(inFlight.wakes().keySet());
            conflicts++;
        }
        inFlight = null;
    }

    /** Whether the session began to live. */
    boolean hasJoined() {
        return joined;
    }

    /** Whether so many transactions failed that it is no use to wait until nobody else takes or frees a slot meanwhile. */
    boolean isCrowded() {
        return conflicts >= MOST_CONFLICTS;
    }

    /** A caller that has no answer yet: how many permits it wants, and whether it goes on waiting if it is refused. */
    record Open(int permits, boolean waits) {}

    /** The callers that have no answer yet, in their order. */
    List<Open> open() {
        List<Open> open = new ArrayList<>();
        for (int i = 0; i < answers.length; i++) {
            if (answers[i] == null) {
                open.add(new Open(request.wants().get(i), waits(i)));
            }
        }
        return open;
    }

    private boolean waits(int want) {
        return request.waiting() && want >= request.attempts();
    }

    /** Whether a caller that has no answer yet wants several permits, but no more than so many. */
    boolean wantsSeveral(int atMost) {
        for (int i = 0; i < answers.length; i++) {
            int wanted = request.wants().get(i);
            if (answers[i] == null && wanted > 1 && wanted <= atMost) {
                return true;
            }
        }
        return false;
    }

    /** Whether any of the callers goes on waiting. There may be others who do, for whom nothing is asked now. */
    boolean isForWaiters() {
        return request.waiting() && request.attempts() < answers.length;
    }

    boolean isServed() {
        return !claiming || Arrays.stream(answers).allMatch(answer -> answer != null);
    }

    /** Whether so many more slots are all that is wanted still. */
    boolean isServedBy(int more) {
        return !claiming || open().stream().mapToInt(Open::permits).sum() <= spare.size() + more;
    }

    /** Gives the spare slots to those who want so many, in their order; returns whether anybody who waits got any. */
    boolean serve() {
        boolean served = false;
        for (int i = 0; i < answers.length; i++) {
            int wanted = request.wants().get(i);
            if (answers[i] == null && wanted <= spare.size()) {
                List<Hold> holds = new ArrayList<>(wanted);
                while (holds.size() < wanted) {
                    holds.add(spare.removeFirst());
                }
                answers[i] = new Answer.Granted(holds);
                served |= waits(i);
            }
        }
        return served;
    }

    /** Answers those whom a limit refuses for good. */
    void refuseBeyond(int limit) {
        for (int i = 0; i < answers.length; i++) {
            if (answers[i] == null && limit == 0) {
                answers[i] = Answer.MISSING;
            } else if (answers[i] == null && request.wants().get(i) > limit) {
                answers[i] = new Answer.ExceedsLimit(limit);
            }
        }
    }

    /** Everything taken, whoever it is for. */
    List<Hold> taken() {
        List<Hold> taken = new ArrayList<>(spare);
        for (Answer answer : answers) {
            if (answer instanceof Answer.Granted granted) {
                taken.addAll(granted.holds());
            }
        }
        return taken;
    }

    /** Whatever this exchange took is gone. */
    void forgetTaken() {
        spare.clear();
        for (int i = 0; i < answers.length; i++) {
            if (answers[i] instanceof Answer.Granted) {
                answers[i] = null;
            }
        }
    }

    boolean hasRefused() {
        return Arrays.stream(answers).anyMatch(answer -> !(answer instanceof Answer.Granted));
    }

    /** The answers. */
    List<Answer> answers() {
        List<Answer> all = new ArrayList<>(answers.length);
        for (Answer answer : answers) {
            all.add(answer == null ? unserved : answer);
        }
        return all;
    }
}
