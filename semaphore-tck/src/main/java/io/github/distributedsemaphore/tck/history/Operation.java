package io.github.distributedsemaphore.tck.history;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * Something that a process did, as it saw it. All instants are on the scale of {@link System#nanoTime}: taken before the
 * call and after the return.
 *
 * @param process the process or thread that called; one call at a time
 * @param kind what
 * @param invoked when it was called
 * @param returned when it returned; {@link #NEVER} if it did not
 * @param outcome how it ended
 * @param count how many permits it is about; the new limit of a resize
 * @param slots the permits it is about; empty unless granted, released or lost
 * @param sureUntil for a grant: up to when it was sure at return; for a release: the call if the permit was valid then,
 *     else what the grant said; {@link #NEVER} if without end
 */
public record Operation(
        String process,
        Kind kind,
        long invoked,
        long returned,
        Outcome outcome,
        int count,
        List<HeldSlot> slots,
        long sureUntil) {
    /** The instant that does not come. */
    public static final long NEVER = Long.MAX_VALUE;

    /** What a process can do. */
    public enum Kind {
        /** Take permits. */
        ACQUIRE,
        /** Take permits if they are free at once. */
        TRY,
        /** Give permits back. */
        RELEASE,
        /** Hear that permits are lost. */
        LOSS,
        /** Die without a word. */
        DEATH,
        /** Change the limit. */
        RESIZE
    }

    /** How it can end. */
    public enum Outcome {
        /** It was done. */
        OK,
        /** The answer was no: certainly nothing was done. */
        REFUSED,
        /** It failed, and certainly nothing was done. */
        FAILED,
        /** Its time was over while an answer was under way: what that brings is given back, and is held until then. */
        LEFT,
        /** Nobody knows whether it was done. */
        UNKNOWN
    }

    /**
     * Keeps an unmodifiable copy.
     *
     * @param process see the record
     * @param kind see the record
     * @param invoked see the record
     * @param returned see the record
     * @param outcome see the record
     * @param count see the record
     * @param slots see the record
     * @param sureUntil see the record
     */
    public Operation {
        slots = List.copyOf(slots);
        if (process.isBlank() || process.contains(" ") || invoked > returned) {
            throw new IllegalArgumentException(
                    "not an operation: process '" + process + "' from " + invoked + " to " + returned);
        }
    }

    /**
     * Tells whether this took permits.
     *
     * @return true for an acquire or a try that was granted
     */
    public boolean isGrant() {
        return (kind == Kind.ACQUIRE || kind == Kind.TRY) && outcome == Outcome.OK;
    }

    /**
     * Writes it in one line, so that {@link #parse} reads it.
     *
     * @return words with single spaces
     */
    public String line() {
        String held = slots.stream().map(HeldSlot::toString).collect(Collectors.joining(","));
        return String.join(
                " ",
                process,
                word(kind),
                Long.toString(invoked),
                instant(returned),
                word(outcome),
                Integer.toString(count),
                held.isEmpty() ? "-" : held,
                instant(sureUntil));
    }

    /**
     * Reads it from a line.
     *
     * @param line as {@link #line} writes it
     * @return the operation
     */
    public static Operation parse(String line) {
        String[] words = line.trim().split(" +", -1);
        if (words.length != 8) {
            throw new IllegalArgumentException("not an operation: " + line);
        }
        return new Operation(
                words[0],
                Kind.valueOf(words[1].toUpperCase(Locale.ROOT)),
                Long.parseLong(words[2]),
                instant(words[3]),
                Outcome.valueOf(words[4].toUpperCase(Locale.ROOT)),
                Integer.parseInt(words[5]),
                words[6].equals("-")
                        ? List.of()
                        : Arrays.stream(words[6].split(",", -1))
                                .map(HeldSlot::parse)
                                .toList(),
                instant(words[7]));
    }

    private static String word(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    private static String instant(long nanos) {
        return nanos == NEVER ? "never" : Long.toString(nanos);
    }

    private static long instant(String text) {
        return text.equals("never") ? NEVER : Long.parseLong(text);
    }
}
