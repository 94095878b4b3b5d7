package io.github.distributedsemaphore.cli.live;

import io.github.distributedsemaphore.Holder;
import io.github.distributedsemaphore.HolderState;
import io.github.distributedsemaphore.SemaphoreDescription;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * All that a view shows at a moment. Immutable.
 *
 * @param source where it comes from
 * @param reading the number of the last reading, from 1; 0 before the first one has ended
 * @param at when that reading ended, by the wall clock of this machine
 * @param took how long that reading took
 * @param pause how long the reader then rests
 * @param trouble why there is no answer; empty if there is one
 * @param silence the time since the last answer, or since the start; zero if {@code trouble} is empty
 * @param rows a row for each semaphore by name, as of the last answer
 * @param changes the last ones, oldest first, those of earlier readings included
 * @param ages by reading, oldest first, how many milliseconds before {@code at} it ended
 */
record Snapshot(
        Source source,
        long reading,
        Instant at,
        Duration took,
        Duration pause,
        String trouble,
        Duration silence,
        List<Row> rows,
        List<Change> changes,
        List<Long> ages) {

    Snapshot {
        rows = List.copyOf(rows);
        changes = List.copyOf(changes);
        ages = List.copyOf(ages);
    }

    /**
     * A backend.
     *
     * @param backend the name of its kind
     * @param address its URI without credentials and settings
     * @param detection after which time at most the slots of a dead holder are free
     */
    record Source(String backend, String address, Duration detection) {}

    /**
     * A semaphore.
     *
     * @param name its name
     * @param now what the backend says about it; null if there is a problem
     * @param problem why the backend does not show it; empty if it does
     * @param past by reading, oldest first and as many as {@link Snapshot#ages}, how many slots were in use;
     *     {@link #UNKNOWN} where there was no answer
     */
    record Row(String name, @Nullable SemaphoreDescription now, String problem, List<Integer> past) {
        static final int UNKNOWN = -1;

        int limit() {
            return now == null ? 0 : now.limit();
        }

        int free() {
            return now == null ? 0 : now.free();
        }

        /** Of the slots within the limit. */
        int held() {
            return limit() - free();
        }

        long count(HolderState state) {
            return holders().stream().filter(holder -> holder.state() == state).count();
        }

        List<Holder> holders() {
            return now == null ? List.of() : now.holders();
        }

        /** When the oldest hold began that has not ended, by the wall clock of its holder. */
        Optional<Instant> oldest() {
            return holders().stream()
                    .filter(holder -> holder.state() != HolderState.EXPIRED)
                    .map(Holder::since)
                    .filter(Objects::nonNull)
                    .min(Comparator.naturalOrder());
        }
    }

    List<Change> changesNow(String name) {
        return changes.stream()
                .filter(change ->
                        change.reading() == reading && change.semaphore().equals(name))
                .toList();
    }

    Snapshot silent(String reason, Duration time) {
        return new Snapshot(source, reading, at, took, pause, reason, time, rows, changes, ages);
    }
}
