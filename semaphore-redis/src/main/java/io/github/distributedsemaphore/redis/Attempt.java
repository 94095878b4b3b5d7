package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.redis.net.Pause;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.Hold;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One exchange: what it has done and what is left of it. For one thread. */
final class Attempt {
    private static final int MOST_CONFLICTS = 32;

    private final ExchangeRequest request;
    private final @Nullable Answer[] answers;
    private final Set<Hold> toGiveBack = new LinkedHashSet<>();
    private final Set<Hold> lost = new HashSet<>();

    /** Clients that got a slot from this exchange, or heard of one. */
    private final Set<String> served = new HashSet<>();

    /** Holds that are for nobody yet. */
    private final Deque<Hold> spare = new ArrayDeque<>();

    private final long startNanos = System.nanoTime();
    private boolean claiming = true;
    private Answer unserved = Answer.FULL;
    private boolean missed;
    private boolean hinted;
    private boolean suspicious;
    private boolean doubtful;
    private boolean progressed;
    private boolean leftToOthers;
    private boolean joined;

    /** Whether the session's life was renewed since. */
    private boolean extended;

    private int conflicts;
    private long sentNanos;
    private boolean backsOff;
    private int freed;
    private @Nullable Step inFlight;

    /** An exchange for nobody, which leaves the session its place in the queue if callers go on waiting. */
    static Attempt ofNobody(boolean waiting) {
        return new Attempt(new ExchangeRequest(List.of(), List.of(), 1, waiting));
    }

    Attempt(ExchangeRequest request) {
        this.request = request;
        this.answers = new Answer[request.wants().size()];
    }

    ExchangeRequest request() {
        return request;
    }

    /** Holds to give back, those that nobody wants among them. */
    Set<Hold> toGiveBack() {
        return toGiveBack;
    }

    /** Holds that were to be given back and are not held any more. */
    Set<Hold> lost() {
        return lost;
    }

    Deque<Hold> spare() {
        return spare;
    }

    /** What serves nobody goes back; returns false if there is nothing. */
    boolean giveBackSpare() {
        boolean any = !spare.isEmpty();
        toGiveBack.addAll(spare);
        spare.clear();
        return any;
    }

    Set<String> served() {
        return served;
    }

    /** These clients heard that something may be free. */
    void hinted(Collection<String> clients) {
        served.addAll(clients);
        hinted |= !clients.isEmpty();
    }

    boolean hasHinted() {
        return hinted;
    }

    /** Whether the slots and the queue were read since this exchange began, and nothing done since. */
    boolean isFresh(View view) {
        return view.slotsRead() && view.queueNanos() - startNanos >= 0;
    }

    /** Whether everything was. */
    boolean isAllFresh(View view) {
        return view.complete() && isFresh(view);
    }

    /** Takes no more slots: what is not served by now is refused. */
    void stopClaiming() {
        claiming = false;
    }

    /** What this exchange did is found out now, and no more is done. */
    void resolve() {
        claiming = false;
        unserved = Answer.NOT_DONE;
    }

    boolean isResolved() {
        return unserved == Answer.NOT_DONE;
    }

    boolean isClaiming() {
        return claiming;
    }

    /** Something that this session held is not there: more may be missing. */
    void suspect() {
        suspicious = true;
    }

    boolean isSuspicious() {
        return suspicious;
    }

    /** Nobody knows how far it came, this class included. */
    void doubt() {
        doubtful = true;
    }

    boolean isDoubtful() {
        return doubtful;
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

    /** So many slots became free by this exchange. */
    void freed(int number) {
        freed += number;
    }

    int freed() {
        return freed;
    }

    boolean isLeftToOthers() {
        return leftToOthers;
    }

    void leaveToOthers(boolean left) {
        leftToOthers = left;
    }

    /** The step that was sent and not answered. */
    @Nullable
    Step inFlight() {
        return inFlight;
    }

    void sent(Step step) {
        inFlight = step;
        sentNanos = System.nanoTime();
    }

    /** The step was done. */
    void done(Step step) {
        joined |= step.join();
        extended |= step.extend();
        step.hands().forEach(hand -> served.add(hand.client()));
        hinted(step.hints());
        inFlight = null;
    }

    /** The step was not done. */
    void undone() {
        if (inFlight != null) {
            conflicts++;
            backsOff = conflicts > 1;
        }
        inFlight = null;
    }

    /** Whether transactions fail again and again, so that it is time to let others go first. */
    boolean hasToBackOff() {
        return backsOff;
    }

    void backOff(Deadline deadline) {
        backsOff = false;
        Pause.backOff(System.nanoTime() - sentNanos, conflicts - 2, deadline);
    }

    /** Whether the session began to live. */
    boolean hasJoined() {
        return joined;
    }

    /**
     * Whether what it took hangs on a deadline that was chosen before the server was known well: if its first answer was slow, little or
     * nothing is left.
     */
    boolean isLifeUncertain() {
        return joined && !extended && !taken().isEmpty();
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
                open.add(new Open(request.wants().get(i), request.waits(i)));
            }
        }
        return open;
    }

    /** How many permits are wanted that are not there yet. */
    int wanted() {
        int wanted = 0;
        for (int i = 0; claiming && i < answers.length; i++) {
            wanted += answers[i] == null ? request.wants().get(i) : 0;
        }
        return Math.max(0, wanted - spare.size());
    }

    /** Whether any of the callers goes on waiting. There may be others that do, for whom nothing is asked now. */
    boolean isForWaiters() {
        return request.hasWaiters();
    }

    /** Whether all that have no answer yet go on waiting if they are refused. */
    boolean isOnlyForWaiters() {
        return open().stream().allMatch(Open::waits);
    }

    boolean isServed() {
        for (Answer answer : answers) {
            if (claiming && answer == null) {
                return false;
            }
        }
        return true;
    }

    /** Whether everything wanted was granted, and nothing is left to give back. */
    boolean isDone() {
        return toGiveBack.isEmpty() && spare.isEmpty() && !hasRefused();
    }

    /** Gives the spare slots to the callers that want so many, in their order; returns whether one that waits got any. */
    boolean serve() {
        boolean any = false;
        for (int i = 0; i < answers.length; i++) {
            int wanted = request.wants().get(i);
            if (answers[i] == null && wanted <= spare.size()) {
                List<Hold> holds = new ArrayList<>(wanted);
                while (holds.size() < wanted) {
                    holds.add(spare.removeFirst());
                }
                answers[i] = new Answer.Granted(holds);
                any |= request.waits(i);
            }
        }
        return any;
    }

    /** Answers the callers that a limit refuses for good. */
    void refuseBeyond(int limit) {
        for (int i = 0; i < answers.length; i++) {
            if (answers[i] == null && limit == 0) {
                answers[i] = Answer.MISSING;
            } else if (answers[i] == null && request.wants().get(i) > limit) {
                answers[i] = new Answer.ExceedsLimit(limit);
            }
        }
    }

    /** Everything taken, for whichever caller. */
    List<Hold> taken() {
        List<Hold> taken = new ArrayList<>(spare);
        for (Answer answer : answers) {
            if (answer instanceof Answer.Granted granted) {
                taken.addAll(granted.holds());
            }
        }
        return taken;
    }

    /** What no caller knows of when this exchange fails. */
    List<Hold> unknownToCallers() {
        List<Hold> unknown = new ArrayList<>(spare);
        unknown.addAll(owed());
        return unknown;
    }

    /** What is to be given back although no caller has said so. */
    List<Hold> owed() {
        return toGiveBack.stream()
                .filter(hold -> !request.giveBack().contains(hold))
                .toList();
    }

    /** These are gone: callers that got one of them have no answer again, and what they got besides is spare. */
    void forget(Collection<Hold> gone) {
        spare.removeAll(gone);
        for (int i = 0; i < answers.length; i++) {
            if (answers[i] instanceof Answer.Granted granted
                    && granted.holds().stream().anyMatch(gone::contains)) {
                granted.holds().stream().filter(hold -> !gone.contains(hold)).forEach(spare::add);
                answers[i] = null;
            }
        }
    }

    boolean hasRefused() {
        for (Answer answer : answers) {
            if (!(answer instanceof Answer.Granted)) {
                return true;
            }
        }
        return false;
    }

    List<Answer> answers() {
        List<Answer> all = new ArrayList<>(answers.length);
        for (Answer answer : answers) {
            all.add(answer == null ? unserved : answer);
        }
        return all;
    }
}
