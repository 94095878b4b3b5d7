package io.github.distributedsemaphore.tck.history;

import java.util.List;
import java.util.Map;

/**
 * What a page shows of a history: how many slots were held over its whole time, and windows around violations, overlaps, losses
 * and faults. Its size is bounded whatever the length of the history. All instants count nanoseconds from the first call.
 * Immutable.
 *
 * @param title what the history is of
 * @param length how long it took, in nanoseconds
 * @param held the mean number of slots that were surely held, in {@value #COLUMNS} equal parts of the length
 * @param limits the limit by the instant from which it holds, in order
 * @param faults the faults that struck, in order
 * @param windows the windows, the most important one first
 * @param violations what is wrong, in words
 */
public record HistoryWindows(
        String title,
        long length,
        List<Double> held,
        Map<Long, Integer> limits,
        List<Span> faults,
        List<Window> windows,
        List<String> violations) {
    static final int COLUMNS = 240;

    /**
     * A piece of time.
     *
     * @param from its first instant
     * @param to its last instant
     */
    public record Span(long from, long to) {
        boolean meets(long otherFrom, long otherTo) {
            return from <= otherTo && to >= otherFrom;
        }
    }

    /**
     * A piece of a history.
     *
     * @param reason why it is shown, in words
     * @param broken whether a rule is broken in it
     * @param from its first instant
     * @param to its last instant
     * @param holds the permits that were held in it
     * @param calls what else happened: calls that waited or took nothing, losses, deaths, changes of the limit
     * @param overlaps where two surely held one slot
     * @param marks the rules that are broken, each with its instant
     * @param leftOut how many holds are not shown, because there are too many
     */
    public record Window(
            String reason,
            boolean broken,
            long from,
            long to,
            List<Hold> holds,
            List<Call> calls,
            List<Overlap> overlaps,
            List<Mark> marks,
            int leftOut) {}

    /**
     * A permit in time.
     *
     * @param process its holder
     * @param slot its slot
     * @param epoch its epoch, or {@link HeldSlot#NO_EPOCH}
     * @param from from when it was surely held
     * @param to up to when it was surely held; before {@code from} if never
     * @param possibleTo up to when nobody knows; {@link Operation#NEVER} if there is no end
     * @param validUntil the end of its validity as the grant said it; {@link Operation#NEVER} without one
     * @param returned whether it ended with a release that was confirmed
     */
    public record Hold(
            String process,
            int slot,
            long epoch,
            long from,
            long to,
            long possibleTo,
            long validUntil,
            boolean returned) {}

    /**
     * Something that took no permit.
     *
     * @param process whose
     * @param what in words
     * @param sign a letter for it; empty for a call that waited and was served
     * @param from its call
     * @param to its return, or {@link Operation#NEVER}
     */
    public record Call(String process, String what, String sign, long from, long to) {}

    /**
     * Two in one slot.
     *
     * @param slot the slot
     * @param first the process that came first
     * @param second the other one
     * @param from from when both held it
     * @param to up to when both held it
     */
    public record Overlap(int slot, String first, String second, long from, long to) {}

    /**
     * A rule that is broken.
     *
     * @param rule its id
     * @param at where this is seen
     */
    public record Mark(String rule, long at) {}

    /**
     * Chooses what to show.
     *
     * @param title what the history is of
     * @param history what happened
     * @param faults which faults struck meanwhile, on the scale of {@link System#nanoTime}
     * @param violations what is wrong with the history
     * @param detectionNanos how long the permit of a dead holder may stay taken
     * @return the choice
     */
    public static HistoryWindows of(
            String title, History history, List<Span> faults, List<Violation> violations, long detectionNanos) {
        return new WindowChoice(history, faults, violations, detectionNanos).windows(title);
    }
}
