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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
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

    private static final String FORMAT = "semaphore/1";

    /**
     * A holder.
     *
     * @param session which client, at this semaphore
     * @param end until when its lease lasts, by the server's clock, in milliseconds
     */
    record Held(String session, Hold hold, long end, long since, HolderInfo who) {
        String toLine() {
            return String.join(
                    " ",
                    "hold",
                    Integer.toString(hold.slot()),
                    Long.toString(hold.epoch()),
                    Long.toString(hold.lastEpoch()),
                    session,
                    Long.toString(end),
                    Long.toString(since),
                    Long.toString(who.pid()),
                    URLEncoder.encode(who.host(), StandardCharsets.UTF_8),
                    URLEncoder.encode(who.label(), StandardCharsets.UTF_8));
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

    final long clock;
    final long now;
    int limit;
    final NavigableMap<Integer, Held> held = new TreeMap<>();

    private long lastEpoch;
    private final Map<String, Long> waiting = new HashMap<>();
    private boolean changed;
    private boolean freed;
    private boolean refused;

    private CasRow(CasStore.Entry entry, long now) {
        this.clock = entry.clockMillis();
        this.now = now;
    }

    /**
     * Reads a row.
     *
     * @param now the latest that the server's clock can show now; the clock in the entry is that of when it was seen
     */
    static CasRow parse(String name, CasStore.Entry entry, long now) {
        CasRow row = new CasRow(entry, now);
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
        if (!first[0].equals(FORMAT)) {
            throw new IllegalArgumentException("its format is not known");
        }
        limit = Integer.parseInt(first[1]);
        lastEpoch = Long.parseLong(first[2]);
        if (limit < 0 || lastEpoch < 0) {
            throw new IllegalArgumentException("a number is negative");
        }
        for (String line : List.of(lines).subList(1, lines.length)) {
            if (line.startsWith("wait ")) {
                String[] words = words(line, 3);
                waiting.put(words[1], Long.parseLong(words[2]));
            } else {
                add(Held.parse(words(line, 10)));
            }
        }
    }

    private void add(Held one) {
        // What has ended is as if it were not stored; the next change leaves it out.
        if (one.end() > clock && held.put(one.hold().slot(), one) != null) {
            throw new IllegalArgumentException("a slot has two holders");
        }
    }

    private static String[] words(String line, int count) {
        String[] words = line.split(" ", -1);
        if (words.length != count) {
            throw new IllegalArgumentException("a line has " + words.length + " words instead of " + count);
        }
        return words;
    }

    /** Returns the stored form; nothing where there is neither a semaphore nor a holder. */
    String encode() {
        if (limit == 0 && held.isEmpty()) {
            return "";
        }
        List<String> lines = new ArrayList<>();
        lines.add(FORMAT + " " + limit + " " + lastEpoch);
        held.values().forEach(one -> lines.add(one.toLine()));
        waiting.forEach((session, until) -> {
            if (until > clock) {
                lines.add("wait " + session + " " + until);
            }
        });
        return String.join("\n", lines);
    }

    boolean isChanged() {
        return changed;
    }

    /** Whether something may be free now that was not, and somebody may wait for it. */
    boolean isHintDue() {
        return freed && waiting.values().stream().anyMatch(until -> until > clock);
    }

    /** Whether somebody was refused, which only what was read just now can justify. */
    boolean hasRefused() {
        return refused;
    }

    void touch() {
        changed = true;
    }

    void resize(int newLimit) {
        changed |= limit != newLimit;
        // Also when it shrinks: those who wait for a semaphore that is gone have to learn it.
        freed |= changed;
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
        freed = true;
        return true;
    }

    void giveBackAll(String session) {
        freed |= held.values().removeIf(one -> one.session().equals(session));
        changed |= waiting.remove(session) != null || freed;
    }

    /** Extends the lease of a hold of this session; returns what it is. */
    HoldState extend(String session, Hold hold, long end) {
        HoldState state = state(session, hold);
        if (state == HoldState.LOST) {
            refused = true;
            return state;
        }
        held.computeIfPresent(
                hold.slot(),
                (slot, one) -> new Held(one.session(), one.hold(), Math.max(one.end(), end), one.since(), one.who()));
        changed = true;
        return state;
    }

    /** Grants a want as a whole, or says why not. */
    Answer grant(String session, HolderInfo who, int permits, int epochs, long end) {
        if (limit == 0 || permits > limit || permits > free()) {
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
                held.put(slot, new Held(session, hold, end, clock, who));
                holds.add(hold);
            }
        }
        changed = true;
        return new Answer.Granted(holds);
    }

    private Hold next(int slot, int epochs) {
        long first = Math.max(lastEpoch + 1, now * EPOCHS_PER_MILLI);
        long room = (now + 1) * EPOCHS_PER_MILLI - first;
        lastEpoch = first + Math.max(1, Math.min(epochs, room)) - 1;
        return new Hold(slot, first, lastEpoch);
    }

    /** Whether another client says that it waits. */
    boolean othersWait(String session) {
        return waiting.entrySet().stream()
                .anyMatch(entry -> !entry.getKey().equals(session) && entry.getValue() > clock);
    }

    /**
     * Says that a client waits, for so long. Two that say so are enough for each client to know of another one: so a thousand
     * that wait write no more than two.
     */
    void waits(String session, long millis) {
        long until = waiting.getOrDefault(session, 0L);
        long others = waiting.entrySet().stream()
                .filter(entry -> !entry.getKey().equals(session) && entry.getValue() > clock)
                .count();
        if (until < clock + millis / 2 && others < 2) {
            waiting.put(session, clock + millis);
            changed = true;
        }
    }

    /** A client does not wait any more. That alone is not worth a request. */
    void waitsNoMore(String session) {
        waiting.remove(session);
    }
}
