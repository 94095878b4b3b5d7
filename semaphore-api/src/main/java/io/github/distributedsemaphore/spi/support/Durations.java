package io.github.distributedsemaphore.spi.support;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Durations as people write them in settings and on the command line. */
public final class Durations {
    private static final Pattern FORM = Pattern.compile("(\\d{1,12})(us|ms|s|m|h|d)");

    /** About 292,000 years. */
    private static final Duration LONGEST_IN_MICROS = Duration.ofSeconds(Long.MAX_VALUE / 1_000_000 - 1);

    private Durations() {}

    /**
     * Reads a duration.
     *
     * @param text a whole number and its unit, one of {@code us ms s m h d}, such as {@code 500ms}
     * @return the duration, not negative
     * @throws IllegalArgumentException if it is not of that form
     */
    public static Duration parse(String text) {
        Matcher matcher = FORM.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "'" + text + "' is no duration: write a whole number and a unit, such as 500ms, 30s or 5m");
        }
        long amount = Long.parseLong(matcher.group(1));
        return switch (matcher.group(2)) {
            case "us" -> Duration.ofNanos(Math.multiplyExact(amount, 1_000L));
            case "ms" -> Duration.ofMillis(amount);
            case "s" -> Duration.ofSeconds(amount);
            case "m" -> Duration.ofMinutes(amount);
            case "h" -> Duration.ofHours(amount);
            default -> Duration.ofDays(amount);
        };
    }

    /**
     * Writes a duration so that {@link #parse} reads it, in the largest unit that loses nothing; below a microsecond it
     * is cut. What is longer than {@link #parse} takes is written in seconds.
     *
     * @param duration the duration, not negative
     * @return such as {@code 1500ms}
     */
    public static String format(Duration duration) {
        if (duration.compareTo(LONGEST_IN_MICROS) > 0) {
            return duration.toSeconds() + "s";
        }
        long micros = duration.toSeconds() * 1_000_000L + duration.toNanosPart() / 1_000;
        String[] units = {"d", "h", "m", "s", "ms"};
        long[] sizes = {86_400_000_000L, 3_600_000_000L, 60_000_000L, 1_000_000L, 1_000L};
        for (int i = 0; i < units.length; i++) {
            if (micros != 0 && micros % sizes[i] == 0) {
                return micros / sizes[i] + units[i];
            }
        }
        return micros == 0 ? "0s" : micros + "us";
    }
}
