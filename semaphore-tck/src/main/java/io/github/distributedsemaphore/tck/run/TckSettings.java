package io.github.distributedsemaphore.tck.run;

import io.github.distributedsemaphore.spi.support.Durations;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * How a run of the kit goes: JUnit configuration parameters or system properties {@code tck.mode} ({@code quick}, {@code full}
 * or {@code soak=DURATION}), {@code tck.history} (how long a history under one kind of fault is, for want of what the mode
 * says), {@code tck.shapes} (under which kinds, a regular expression), {@code tck.timeout.factor} (1 by default; larger for a slow
 * machine), {@code tck.seed}, {@code tck.patience} (how long to wait for what no declared bound covers, 20s by default), {@code
 * tck.report} ({@code false} writes and prints none), {@code tck.reports} (the folder for reports, {@code target/tck} by default)
 * and {@code tck.jvms} (in how many JVMs the sections run side by side; as the test class says by default).
 *
 * @param mode as it was given
 * @param histories how long histories under faults are
 * @param factor what all durations are multiplied by
 * @param seed where all random choices come from
 * @param patience how long to wait for what must happen, before the factor
 * @param report whether to write a report
 * @param reports where to
 * @param jvms in how many JVMs the sections run side by side; empty if the test class says so
 * @param share which of several JVMs this is; empty if it is none of them
 */
public record TckSettings(
        String mode,
        TckHistories histories,
        double factor,
        long seed,
        Duration patience,
        boolean report,
        Path reports,
        OptionalInt jvms,
        Optional<SectionShare> share) {
    private static final String FULL = "full";
    private static final String QUICK = "quick";
    private static final String SOAK = "soak=";
    private static final int MOST_JVMS = 64;
    /** How many times longer than a quick run a full one goes on where it is time that ends it. */
    private static final int TIMES_IN_FULL = 10;

    public static TckSettings from(Function<String, @Nullable String> parameters) {
        String mode = or(parameters.apply("tck.mode"), QUICK).toLowerCase(Locale.ROOT);
        TckHistories histories =
                histories(mode).with(or(parameters.apply("tck.shapes"), ""), or(parameters.apply("tck.history"), ""));
        double factor = Double.parseDouble(or(parameters.apply("tck.timeout.factor"), "1"));
        if (!(factor >= 1 && factor <= 1000)) {
            throw new IllegalArgumentException("tck.timeout.factor is " + factor + ", it must be from 1 to 1000");
        }
        long seed = Long.parseLong(or(parameters.apply("tck.seed"), Long.toString(seedOfTheBuild(parameters))));
        Duration patience = Durations.parse(or(parameters.apply("tck.patience"), "20s"));
        return new TckSettings(
                mode,
                histories,
                factor,
                seed,
                patience,
                !"false".equals(parameters.apply("tck.report")),
                Path.of(or(
                        parameters.apply("tck.reports"),
                        Path.of("target", "tck").toString())),
                jvms(or(parameters.apply("tck.jvms"), "")),
                SectionShare.from(parameters));
    }

    private static OptionalInt jvms(String value) {
        if (value.isEmpty()) {
            return OptionalInt.empty();
        }
        int jvms = Integer.parseInt(value);
        if (jvms < 1 || jvms > MOST_JVMS) {
            throw new IllegalArgumentException("tck.jvms is " + jvms + ", it must be from 1 to " + MOST_JVMS);
        }
        return OptionalInt.of(jvms);
    }

    /** A test that is repeated after a failure has to choose as before; so the order's seed, if there is one, is this one too. */
    private static long seedOfTheBuild(Function<String, @Nullable String> parameters) {
        String order = or(parameters.apply("junit.jupiter.execution.order.random.seed"), "");
        return order.isEmpty() ? System.nanoTime() & 0xffffffffL : Integer.toUnsignedLong(order.hashCode());
    }

    private static TckHistories histories(String mode) {
        if (mode.startsWith(SOAK)) {
            return TckHistories.soak(Durations.parse(mode.substring(SOAK.length())));
        }
        return switch (mode) {
            case QUICK -> TckHistories.quick();
            case FULL -> TckHistories.full();
            default ->
                throw new IllegalArgumentException(
                        "tck.mode is '" + mode + "', it must be quick, full or soak=DURATION, such as soak=10m");
        };
    }

    boolean isQuick() {
        return mode.equals(QUICK);
    }

    public boolean full() {
        return mode.equals(FULL);
    }

    private static String or(@Nullable String value, String otherwise) {
        return value == null || value.isBlank() ? otherwise : value;
    }

    public Duration scaled(Duration duration) {
        return Duration.ofNanos((long) (duration.toNanos() * factor));
    }

    /** How long to go on with what has no end of its own. */
    public Duration budget(Duration inQuick) {
        return scaled(full() ? inQuick.multipliedBy(TIMES_IN_FULL) : inQuick);
    }
}
