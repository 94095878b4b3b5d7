package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.consul.PrefixView.Contender;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The order in which clients wait for the slots of a semaphore. A client that waits has a place: a contender entry that says so, as
 * the guide's contender entries do. The index of the entry's last write is its number in the order. A client leaves free slots to those
 * before it, so that those that wait do not all write the same key at the same time. The order grants nothing and binds nobody: a
 * client that does not take what is left to it is passed over for a while. However many do not come, their further turns are half a
 * second apart, so that dead ones do not keep a slot from those that live. For one thread at a time.
 */
final class WaitingOrder {
    /** For how long a free slot is left to a client; it needs a watch's answer and a transaction to take it. */
    static final Duration PATIENCE = Duration.ofMillis(50);

    /**
     * From one further turn to the next, of whichever client that did not take its slot because it is dead or slow. A place has its next
     * turn after as many of these as there are places in {@link #turns}.
     */
    private static final long AGAIN_NANOS = PATIENCE.plusMillis(500).toNanos();

    /** So many that wait hear of each change at once. */
    private static final int NEAR = 16;

    /** How much later a client may look for each that is between it and those. */
    private static final Duration LATER_EACH = Duration.ofMillis(10);

    private static final Duration LATEST = Duration.ofMillis(500);

    /** The last turn of each place for which a slot was free. One that was in vain stays as long as the place. */
    private final Map<Place, Turn> turns = new HashMap<>();

    /**
     * A place's turn to take a slot.
     *
     * @param since in nanoseconds
     * @param again whether an earlier one was in vain
     */
    private record Turn(long since, boolean again) {}

    private record Place(String session, long index) {
        static Place of(Contender contender) {
            return new Place(contender.session(), contender.modifyIndex());
        }
    }

    /**
     * The other clients that wait.
     *
     * @param before those whose turn comes before this client's
     * @param behind the others
     */
    record Row(List<Contender> before, List<Contender> behind) {
        static final Row NOBODY = new Row(List.of(), List.of());
    }

    /**
     * Finds this client's position.
     *
     * @param own the ids of this client's sessions
     * @param place that of them which keeps the place; null if none does: then all others come before
     * @param now in nanoseconds
     */
    Row row(PrefixView view, Set<String> own, @Nullable String place, long now) {
        long number = number(view, place);
        boolean mayCallAgain = mayCallAgain(now);
        long first = first();
        List<Contender> before = new ArrayList<>();
        List<Contender> behind = new ArrayList<>();
        for (Contender contender : view.contenders().values()) {
            if (waits(view, contender)
                    && !own.contains(contender.session())
                    && !isPassedOver(contender, first, mayCallAgain, now)) {
                (contender.modifyIndex() < number ? before : behind).add(contender);
            }
        }
        before.sort(Comparator.comparingLong(Contender::modifyIndex));
        behind.sort(Comparator.comparingLong(Contender::modifyIndex));
        return new Row(before, behind);
    }

    private static long number(PrefixView view, @Nullable String place) {
        Contender own = place == null ? null : view.contenders().get(place);
        return own == null || own.waiting() == 0 ? Long.MAX_VALUE : own.modifyIndex();
    }

    private static boolean waits(PrefixView view, Contender contender) {
        return contender.waiting() > 0 && !view.isHolder(contender.session());
    }

    /**
     * How long a client that waits does without looking again. Each change answers the queries of all that wait with the whole list, and
     * the turn of one far back does not come with the next.
     *
     * @param place as in {@link #row}
     */
    static Duration pause(PrefixView view, @Nullable String place) {
        long number = number(view, place);
        long before = view.contenders().values().stream()
                .filter(other -> waits(view, other) && other.modifyIndex() < number)
                .count();
        Duration later = LATER_EACH.multipliedBy(Math.max(0, before - NEAR));
        return later.compareTo(LATEST) < 0 ? later : LATEST;
    }

    private boolean isPassedOver(Contender contender, long first, boolean mayCallAgain, long now) {
        Place place = Place.of(contender);
        Turn last = turns.get(place);
        if (last == null || !isOver(place, last, first, now)) {
            return false;
        }
        return !mayCallAgain || now - last.since() < AGAIN_NANOS * turns.size();
    }

    /** The first place in the order that has had a turn. */
    private long first() {
        return turns.keySet().stream().mapToLong(Place::index).min().orElse(Long.MAX_VALUE);
    }

    /** A client may leave the slot to one before it in the meantime, which may be dead: it has the time for both. */
    private static boolean isOver(Place place, Turn turn, long first, long now) {
        Duration patience = place.index() > first ? PATIENCE.multipliedBy(2) : PATIENCE;
        return now - turn.since() >= patience.toNanos();
    }

    /**
     * Whether the last further turn is long enough ago. One at a time also after a while without a free slot: or else all that are dead
     * would have their turns before one that lives.
     */
    private boolean mayCallAgain(long now) {
        return turns.values().stream().noneMatch(turn -> turn.again() && now - turn.since() < AGAIN_NANOS);
    }

    /** Notes for whom slots are left free now: their time runs, or goes on. */
    void call(PrefixView view, Collection<Contender> kept, long now) {
        Set<Place> places = kept.stream().map(Place::of).collect(Collectors.toSet());
        turns.keySet().removeIf(place -> !isThere(view, place));
        long first = first();
        // The slot is gone within the time of the first turn, which was not in vain then.
        turns.entrySet()
                .removeIf(entry -> !entry.getValue().again()
                        && !isOver(entry.getKey(), entry.getValue(), first, now)
                        && !places.contains(entry.getKey()));
        for (Place place : places) {
            Turn last = turns.get(place);
            if (last == null || isOver(place, last, first, now)) {
                turns.put(place, new Turn(now, last != null));
            }
        }
    }

    private static boolean isThere(PrefixView view, Place place) {
        Contender still = view.contenders().get(place.session());
        return still != null && still.modifyIndex() == place.index();
    }
}
