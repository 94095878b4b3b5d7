package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.spi.Durations;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * How a run of the kit goes: JUnit configuration parameters or system properties {@code tck.mode} ({@code quick} or {@code
 * full}), {@code tck.timeout.factor} (1 by default; larger for a slow machine), {@code tck.seed}, {@code tck.patience} (how
 * long to wait for what no declared bound covers, 20s by default), {@code tck.report} ({@code false} writes and prints none) and {@code tck.reports} (the folder for reports, {@code target/tck} by default).
 *
 * @param full whether the sizes of a full run are wanted
 * @param factor what all durations are multiplied by
 * @param seed where all random choices come from
 * @param patience how long to wait for what must happen, before the factor
 * @param report whether to write a report
 * @param reports where to
 */
record TckSettings(boolean full, double factor, long seed, Duration patience, boolean report, Path reports) {
    static TckSettings from(Function<String, @Nullable String> parameters) {
        String mode = or(parameters.apply("tck.mode"), "quick").toLowerCase(Locale.ROOT);
        if (!mode.equals("quick") && !mode.equals("full")) {
            throw new IllegalArgumentException("tck.mode is '" + mode + "', it must be quick or full");
        }
        double factor = Double.parseDouble(or(parameters.apply("tck.timeout.factor"), "1"));
        if (!(factor >= 1 && factor <= 1000)) {
            throw new IllegalArgumentException("tck.timeout.factor is " + factor + ", it must be from 1 to 1000");
        }
        long seed = Long.parseLong(or(parameters.apply("tck.seed"), Long.toString(System.nanoTime() & 0xffffffffL)));
        Duration patience = Durations.parse(or(parameters.apply("tck.patience"), "20s"));
        return new TckSettings(
                mode.equals("full"),
                factor,
                seed,
                patience,
                !"false".equals(parameters.apply("tck.report")),
                Path.of(or(
                        parameters.apply("tck.reports"),
                        Path.of("target", "tck").toString())));
    }

    private static String or(@Nullable String value, String otherwise) {
        return value == null || value.isBlank() ? otherwise : value;
    }

    Duration scaled(Duration duration) {
        return Duration.ofNanos((long) (duration.toNanos() * factor));
    }
}
