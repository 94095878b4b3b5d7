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
import org.jspecify.annotations.Nullable;

/**
 * The order in which clients wait for the slots of a semaphore. A client that waits has a place: a contender entry that says so, as
 * the guide's contender entries do. The index of the entry's last write is its number in the order. A client leaves free slots to those
 * before it, so that those that wait do not all write the same key at the same time. The order grants nothing and binds nobody: a
 * client that does not take what is left to it is passed over for a while. For one thread at a time.
 */
final class WaitingOrder {
    /** For how long a free slot is left to a client; it needs a watch's answer and a transaction to take it. */
    static final Duration PATIENCE = Duration.ofMillis(50);

    /** For how long it is passed over, because it is dead or slow; after that its turn comes again. */
    private static final Duration PASSED_OVER = Duration.ofMillis(500);

    /** So many that wait hear of each change at once. */
    private static final int NEAR = 16;

    /** How much later a client may look for each that is between it and those. */
    private static final Duration LATER_EACH = Duration.ofMillis(10);

    private static final Duration LATEST = Duration.ofMillis(500);

    /** The places for which a slot was free, and since when. */
    private final Map<Place, Long> called = new HashMap<>();

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
        List<Contender> before = new ArrayList<>();
        List<Contender> behind = new ArrayList<>();
        for (Contender contender : view.contenders().values()) {
            if (waits(view, contender) && !own.contains(contender.session()) && !isPassedOver(contender, now)) {
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

    private boolean isPassedOver(Contender contender, long now) {
        Long since = called.get(Place.of(contender));
        return since != null && now - since >= PATIENCE.toNanos() && !isForgotten(since, now);
    }

    private static boolean isForgotten(long since, long now) {
        return now - since >= PATIENCE.plus(PASSED_OVER).toNanos();
    }

    /** Notes for whom slots are left free now: their time runs, or goes on. */
    void call(PrefixView view, Collection<Contender> kept, long now) {
        called.entrySet().removeIf(entry -> {
            Contender still = view.contenders().get(entry.getKey().session());
            boolean waits =
                    still != null && still.modifyIndex() == entry.getKey().index();
            return !waits
                    || isForgotten(entry.getValue(), now)
                    || (now - entry.getValue() < PATIENCE.toNanos() && !kept.contains(still));
        });
        kept.forEach(contender -> called.putIfAbsent(Place.of(contender), now));
    }
}
