package io.github.distributedsemaphore.cli.live;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.SemaphoreDescription;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What differs between two answers. What happened and ended between them is not seen.
 *
 * @param reading the number of the later reading
 * @param at when that ended
 * @param semaphore the name; empty if it concerns the backend
 * @param kind what has changed
 * @param detail the rest of the sentence, such as {@code slot 2, web1 pid 4711, nightly}
 */
record Change(long reading, Instant at, String semaphore, Kind kind, String detail) {
    enum Kind {
        TAKEN("+"),
        FREED("-"),
        PASSED_ON(">"),
        EXPIRED("x"),
        RETIRED("~"),
        LIMIT("="),
        APPEARED("*"),
        GONE("!"),
        NO_ANSWER("!"),
        ANSWERS("*");

        private final String mark;

        Kind(String mark) {
            this.mark = mark;
        }

        String mark() {
            return mark;
        }

        String word() {
            return name().toLowerCase(Locale.ROOT).replace('_', ' ');
        }
    }

    String text() {
        return kind.mark() + " " + kind.word() + (detail.isEmpty() ? "" : " " + detail);
    }

    /** Collects what differs between two rows of a semaphore. */
    static List<Change> between(
            long reading,
            Instant at,
            String name,
            @Nullable SemaphoreDescription before,
            @Nullable SemaphoreDescription after) {
        List<Change> changes = new ArrayList<>();
        if (before == null && after != null) {
            changes.add(new Change(reading, at, name, Kind.APPEARED, "with limit " + after.limit()));
        }
        if (before != null && after == null) {
            changes.add(new Change(reading, at, name, Kind.GONE, ""));
        }
        if (before != null && after != null && before.limit() != after.limit()) {
            changes.add(new Change(reading, at, name, Kind.LIMIT, "from " + before.limit() + " to " + after.limit()));
        }
        Map<Integer, Holder> old = bySlot(before);
        Map<Integer, Holder> now = bySlot(after);
        TreeSet<Integer> slots = new TreeSet<>(old.keySet());
        slots.addAll(now.keySet());
        for (int slot : slots) {
            Holder was = old.get(slot);
            Holder is = now.get(slot);
            Kind kind = kind(was, is);
            if (kind != null) {
                changes.add(
                        new Change(reading, at, name, kind, describe(Objects.requireNonNull(is == null ? was : is))));
            }
        }
        return changes;
    }

    private static Map<Integer, Holder> bySlot(@Nullable SemaphoreDescription semaphore) {
        Map<Integer, Holder> holders = new TreeMap<>();
        if (semaphore != null) {
            semaphore.holders().forEach(holder -> holders.put(holder.slot(), holder));
        }
        return holders;
    }

    private static @Nullable Kind kind(@Nullable Holder was, @Nullable Holder is) {
        if (was == null || is == null) {
            return is == null ? Kind.FREED : is.state() == HolderState.EXPIRED ? Kind.EXPIRED : Kind.TAKEN;
        }
        if (!isSame(was, is)) {
            return Kind.PASSED_ON;
        }
        if (was.state() == is.state()) {
            return null;
        }
        return switch (is.state()) {
            case HELD -> Kind.TAKEN;
            case RETIRED -> Kind.RETIRED;
            case EXPIRED -> Kind.EXPIRED;
        };
    }

    private static boolean isSame(Holder was, Holder is) {
        return was.epoch() == is.epoch()
                && was.host().equals(is.host())
                && was.pid() == is.pid()
                && Objects.equals(was.since(), is.since());
    }

    private static String describe(Holder holder) {
        return "slot " + holder.slot() + person(holder);
    }

    /** Where the holder is and what it calls itself, with a comma before each part; empty if nothing is known. */
    private static String person(Holder holder) {
        return (holder.host().isEmpty() ? "" : ", " + holder.host())
                + (holder.pid() == 0 ? "" : (holder.host().isEmpty() ? ", pid " : " pid ") + holder.pid())
                + (holder.label().isEmpty() ? "" : ", " + holder.label());
    }
}
