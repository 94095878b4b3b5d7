package io.github.distributedsemaphore.spi.support;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.HolderInfo;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * One semaphore as a {@link CasStore} keeps it, while it is being changed. The stored form is text, so that an operator can read
 * it: a line for the semaphore, one for each holder, and one for each of the few clients that say that they wait. Not
 * thread-safe.
 *
 * <p>Epochs follow the server's clock, 1,024 for each millisecond, and hardly ever run ahead of it. So they rise although a
 * destroyed semaphore leaves nothing behind, and over a fail-over to a replica that lacks what was written last.
 */
final class CasRow {
    static final int EPOCHS_PER_MILLI = 1_024;

    /** The end of what does not end. */
    static final long NEVER = Long.MAX_VALUE;

    private static final String FORMAT = "semaphore/1";
    private static final int MOST_WAITING = 16;

    /** A client that waits says so again after half of it; one that died is listed for so long. */
    static final long WAITS_MILLIS = 4_000;

    /** Long enough for a hint and two requests, or for the next look of a client that polls. */
    static final long CALL_MILLIS = 250;

    /**
     * A holder.
     *
     * @param session which client, at this semaphore
     * @param end until when its lease lasts, by the server's clock, in milliseconds
     */
    record Held(String session, Hold hold, long end, long since, HolderInfo who) {
        String toLine() {
            return "hold " + hold.slot() + " " + hold.epoch() + " " + hold.lastEpoch() + " " + session + " " + end + " "
                    + since + " " + who.pid() + " " + URLEncoder.encode(who.host(), StandardCharsets.UTF_8) + " "
                    + URLEncoder.encode(who.label(), StandardCharsets.UTF_8);
        }

        static Held parse(String[] words) {
            Hold hold = new Hold(Integer.parseInt(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]));
            HolderInfo who = new HolderInfo(
                    URLDecoder.decode(words[8], StandardCharsets.UTF_8),
                    Long.parseLong(words[7]),
                    URLDecoder.decode(words[9], StandardCharsets.UTF_8));
            return new Held(words[4], hold, Long.parseLong(words[5]), Long.parseLong(words[6]), who);
        }
    }

    /**
     * A client that waits, in the order of the text.
     *
     * @param until until when it counts: it says again and again that it still waits, and a call is short
     * @param permits how many its first caller wants
     * @param called whether something is free that is kept for it
     */
    private record Waiting(long until, int permits, boolean called) {}

    final long clock;
    final long now;
    private final long earliest;

    /**
     * When a lease ends that begins, or is extended, now. It is counted from the earliest that the clock can show: the latest is ahead by
     * what an answer took, and the slot of a dead holder would stay taken for as much longer.
     */
    final long leaseEnd;

    int limit;
    final NavigableMap<Integer, Held> held = new TreeMap<>();

    private long lastEpoch;
    private final Map<String, Waiting> waiting = new LinkedHashMap<>();
    private final List<String> calledNow = new ArrayList<>();
    private boolean everybody;
    private boolean changed;
    private boolean refused;

    private CasRow(CasStore.Entry entry, long earliest, long now, long leaseMillis) {
        this.clock = entry.clockMillis();
        this.earliest = earliest;
        this.now = now;
        this.leaseEnd = earliest + leaseMillis;
    }

    /**
     * Reads a row.
     *
     * @param earliest the earliest that the server's clock can show now; the clock in the entry is that of when it was seen
     * @param now the latest that it can show now
     */
    static CasRow parse(String name, CasStore.Entry entry, long earliest, long now, long leaseMillis) {
        CasRow row = new CasRow(entry, earliest, now, leaseMillis);
        if (entry.version() == 0) {
            return row;
        }
        try {
            row.read(entry.value());
        } catch (RuntimeException e) {
            throw new IncompatibleStateException(
                    "What is stored for semaphore '" + name + "' is not of the form that this version knows, '" + FORMAT
                            + "' (" + e.getMessage() + "): remove it, or use a version that knows it",
                    e);
        }
        return row;
    }

    private void read(String text) {
        String[] lines = text.split("\n", -1);
        String[] first = words(lines[0], 3);
        limit = Integer.parseInt(first[1]);
        lastEpoch = Long.parseLong(first[2]);
        if (!first[0].equals(FORMAT) || limit < 0 || lastEpoch < 0) {
            throw new IllegalArgumentException("its first line is not known");
        }
        for (String line : List.of(lines).subList(1, lines.length)) {
            if (line.startsWith("hold ")) {
                add(Held.parse(words(line, 10)));
            } else {
                String[] words = words(line, 4);
                boolean called = words[0].equals("call");
                if (!called && !words[0].equals("wait")) {
                    throw new IllegalArgumentException("a line of it is not known");
                }
                add(words[1], new Waiting(Long.parseLong(words[2]), Integer.parseInt(words[3]), called));
            }
        }
    }

    /** What has ended is as if it were not stored; the next change leaves it out. */
    private void add(Held one) {
        if (one.end() > clock && held.put(one.hold().slot(), one) != null) {
            throw new IllegalArgumentException("a slot has two holders");
        }
    }

    private void add(String session, Waiting one) {
        if (one.until() > clock) {
            waiting.put(session, one);
        }
    }

    private static String[] words(String line, int count) {
        String[] words = line.split(" ", -1);
        if (words.length != count) {
            throw new IllegalArgumentException("a line has " + words.length + " words instead of " + count);
        }
        return words;
    }

    /** Whether there is neither a semaphore nor a holder. */
    boolean isGone() {
        return limit == 0 && held.isEmpty();
    }

    /** How long a semaphore that is created after this one is removed would repeat epochs: from its clock on, in milliseconds. */
    private long millisAheadOfClock() {
        return Math.max(0, lastEpoch / EPOCHS_PER_MILLI - clock + 1);
    }

    /** Returns the stored form; nothing if it is gone, and nobody who creates it anew would repeat its epochs. */
    String encode() {
        if (isGone() && millisAheadOfClock() == 0) {
            return "";
        }
        StringBuilder text = new StringBuilder(FORMAT + " " + limit + " " + lastEpoch);
        held.values().forEach(one -> text.append('\n').append(one.toLine()));
        waiting.forEach((session, one) -> text.append(one.called() ? "\ncall " : "\nwait ")
                .append(session + " " + one.until() + " " + one.permits()));
        return text.toString();
    }

    boolean isChanged() {
        return changed;
    }

    /** Which waiting clients are to look, see {@link CasStore.Change#hint}. */
    String hint() {
        return everybody && !waiting.isEmpty() ? CasStore.EVERYBODY : String.join(" ", calledNow);
    }

    /** Whether it has to be read anew: nothing is to be written that would show whether it is still so. */
    boolean isDoubtful() {
        return !changed || (refused && firstEnd() <= now);
    }

    /** When the first lease or call ends; {@link #NEVER} if there is none. */
    long firstEnd() {
        long first = firstCallEnd();
        for (Held one : held.values()) {
            first = Math.min(first, one.end());
        }
        return first;
    }

    private long firstCallEnd() {
        long first = NEVER;
        for (Waiting one : waiting.values()) {
            first = one.called() ? Math.min(first, one.until()) : first;
        }
        return first;
    }

    /** When somebody has to look again: at the end of the first call, and when a semaphore that is destroyed can be removed. */
    OptionalLong millisToTend() {
        if (isGone()) {
            long ahead = millisAheadOfClock();
            return ahead == 0 ? OptionalLong.empty() : OptionalLong.of(ahead);
        }
        long end = firstCallEnd();
        if (limit == 0) {
            end = held.values().stream().mapToLong(Held::end).max().getAsLong();
        }
        return end == NEVER ? OptionalLong.empty() : OptionalLong.of(Math.max(0, end - earliest) + 1);
    }

    /** Nothing is left of a destroyed semaphore: its entry goes. */
    void removeIfGone() {
        changed |= isGone() && millisAheadOfClock() == 0;
    }

    void touch() {
        changed = true;
    }

    void resize(int newLimit) {
        changed |= limit != newLimit;
        // Also when it shrinks: clients that wait for a semaphore that is gone have to learn it.
        everybody |= changed;
        limit = newLimit;
    }

    int free() {
        return Math.max(0, limit - held.headMap(limit, true).size());
    }

    HoldState state(String session, Hold hold) {
        Held one = held.get(hold.slot());
        if (one == null || !one.session().equals(session) || !one.hold().equals(hold)) {
            return HoldState.LOST;
        }
        return hold.slot() > limit ? HoldState.RETIRED : HoldState.HELD;
    }

    /** Returns false if it was not held. */
    boolean giveBack(String session, Hold hold) {
        if (state(session, hold) == HoldState.LOST) {
            refused = true;
            return false;
        }
        held.remove(hold.slot());
        changed = true;
        return true;
    }

    void giveBackAll(String session) {
        changed |= held.values().removeIf(one -> one.session().equals(session));
        leave(session);
    }

    /** A client does not wait any more. */
    void leave(String session) {
        changed |= waiting.remove(session) != null;
    }

    /** Extends the lease of a hold of this session; returns what it is. */
    HoldState extend(String session, Hold hold) {
        HoldState state = state(session, hold);
        if (state == HoldState.LOST) {
            refused = true;
            return state;
        }
        held.computeIfPresent(hold.slot(), (slot, one) -> {
            long end = Math.max(one.end(), leaseEnd);
            return new Held(session, hold, end, one.since(), one.who());
        });
        changed = true;
        return state;
    }

    /**
     * Grants a want as a whole, or says why not.
     *
     * @param waits whether the caller goes on waiting: then it leaves to others what is kept for them
     */
    Answer grant(String session, HolderInfo who, int permits, int epochs, boolean waits) {
        if (permits > (waits ? free() - keptForOthers(session) : free())) {
            refused = true;
            if (limit == 0) {
                return Answer.MISSING;
            }
            return permits > limit ? new Answer.ExceedsLimit(limit) : Answer.FULL;
        }
        List<Hold> holds = new ArrayList<>();
        for (int slot = 1; holds.size() < permits; slot++) {
            if (!held.containsKey(slot)) {
                Hold hold = next(slot, epochs);
                held.put(slot, new Held(session, hold, leaseEnd, earliest, who));
                holds.add(hold);
            }
        }
        if (waits) {
            leave(session);
        }
        changed = true;
        return new Answer.Granted(holds);
    }

    /**
     * Epochs follow the earliest that the clock can show now. One that ran ahead would be above those of the next semaphore of this
     * name, for nothing is left of one that was removed. The clock of when the row was seen is up to ten seconds behind: upon a replica
     * that lacks the last grants, epochs would be below theirs.
     */
    private Hold next(int slot, int epochs) {
        long first = Math.max(lastEpoch + 1, earliest * EPOCHS_PER_MILLI);
        long room = (earliest + 1) * EPOCHS_PER_MILLI - first;
        lastEpoch = first + Math.max(1, Math.min(epochs, room)) - 1;
        return new Hold(slot, first, lastEpoch);
    }

    private int keptForOthers(String session) {
        int kept = 0;
        for (Map.Entry<String, Waiting> entry : waiting.entrySet()) {
            boolean others = entry.getValue().called() && !entry.getKey().equals(session);
            kept += others ? entry.getValue().permits() : 0;
        }
        return kept;
    }

    /** Whether another client says that it waits. */
    boolean othersWait(String session) {
        return waiting.size() > (waiting.containsKey(session) ? 1 : 0);
    }

    boolean isWaiting(String session) {
        return waiting.containsKey(session);
    }

    /**
     * Calls waiting clients first, if something is free for them: what they want is kept for them for a moment. A client that does
     * not come, because it died or does not wait any more, loses its place.
     */
    void call() {
        if (waiting.isEmpty()) {
            return;
        }
        int room = free() - keptForOthers("");
        for (Map.Entry<String, Waiting> entry : waiting.entrySet()) {
            Waiting one = entry.getValue();
            if (!one.called() && one.permits() <= room) {
                entry.setValue(new Waiting(now + CALL_MILLIS, one.permits(), true));
                calledNow.add(entry.getKey());
                room -= one.permits();
                changed = true;
            }
        }
    }

    /**
     * A client waits, behind the others. So few are listed that a thousand that wait write no more than they. A client that has just
     * had its turn leaves half of the places to those that have none, and ask once a second.
     */
    void waits(String session, int permits, boolean again) {
        Waiting known = waiting.get(session);
        boolean enters = known == null && waiting.size() < (again ? MOST_WAITING / 2 : MOST_WAITING);
        boolean lapses = known != null && (known.called() || known.until() < now + WAITS_MILLIS / 2);
        if (enters || lapses || (known != null && known.permits() != permits)) {
            waiting.put(session, new Waiting(now + WAITS_MILLIS, permits, false));
            changed = true;
        }
    }
}
