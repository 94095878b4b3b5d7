package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.tck.history.History;
import io.github.distributedsemaphore.tck.history.HistoryChecks;
import io.github.distributedsemaphore.tck.history.HistoryWindows;
import io.github.distributedsemaphore.tck.history.Sometimes;
import io.github.distributedsemaphore.tck.report.HistoryFigures;
import io.github.distributedsemaphore.tck.report.Measurements;
import java.time.Duration;
import java.util.Random;
import java.util.Set;
import java.util.function.BooleanSupplier;

/** The part of a {@link TckFixture} that waits, measures and chooses sizes. Thread-safe. */
abstract class TimedFixture {
    private final TckSettings settings;
    private final Measurements measurements;
    private final TckTiming timing;
    private final Random random;

    TimedFixture(TckSettings settings, Measurements measurements, long seed) {
        this.settings = settings;
        this.measurements = measurements;
        this.timing = new TckTiming(settings);
        this.random = new Random(seed);
    }

    TckTiming timing() {
        return timing;
    }

    /**
     * Waits until something is true.
     *
     * @param what what, for the message
     * @param condition asked again and again
     * @throws AssertionError if it does not become true within {@link #patience}
     */
    public void await(String what, BooleanSupplier condition) {
        timing.await(what, timing.patience(), condition);
    }

    /**
     * Waits until something is true.
     *
     * @param what what, for the message
     * @param bound the longest; multiplied by the time-out factor
     * @param condition asked again and again
     * @throws AssertionError if it does not become true in time
     */
    public void await(String what, Duration bound, BooleanSupplier condition) {
        timing.await(what, scaled(bound), condition);
    }

    /**
     * Shows that something stays true for {@link #quiet}.
     *
     * @param what what, for the message
     * @param stays asked again and again
     */
    public void proveNothing(String what, BooleanSupplier stays) {
        timing.proveNothing(what, timing.quiet(), stays);
    }

    /**
     * Shows that something stays true for some time.
     *
     * @param what what, for the message
     * @param time how long; not multiplied by anything
     * @param stays asked again and again
     */
    public void proveNothing(String what, Duration time, BooleanSupplier stays) {
        timing.proveNothing(what, time, stays);
    }

    /**
     * Returns how long to wait for what must happen, where no declared bound says it.
     *
     * @return scaled
     */
    public Duration patience() {
        return timing.patience();
    }

    /**
     * Returns how long to look for what must not happen.
     *
     * @return scaled
     */
    public Duration quiet() {
        return timing.quiet();
    }

    /**
     * Multiplies a duration by the time-out factor.
     *
     * @param duration the duration
     * @return the product
     */
    public Duration scaled(Duration duration) {
        return settings.scaled(duration);
    }

    /**
     * Returns the random numbers of this test: the same for the same {@code tck.seed}.
     *
     * @return the generator
     */
    public Random random() {
        return random;
    }

    /**
     * Returns the seed of the run, for messages.
     *
     * @return {@code tck.seed}
     */
    public long seed() {
        return settings.seed();
    }

    /** How long histories are to be. */
    TckHistories histories() {
        return settings.histories();
    }

    /** Notes what a history came to, for the report. */
    void measure(HistoryFigures figures) {
        measurements.add(figures);
    }

    /** Keeps what the page of the report shows of a history. */
    void measure(HistoryWindows windows) {
        measurements.add(windows);
    }

    /** Says which states the run has to reach, or it could not have failed. */
    void expect(Set<Sometimes> states) {
        measurements.expect(states);
    }

    /** Notes that a state was reached, without which the calling test would mean nothing. */
    void reached(Sometimes state) {
        measurements.expect(Set.of(state));
        measurements.reached(state, 1);
    }

    /** Notes the states that a history shows. */
    void reached(History history) {
        HistoryChecks.reached(history).forEach(measurements::reached);
    }

    /**
     * Tells whether the run is a full one.
     *
     * @return {@code tck.mode=full}
     */
    public boolean full() {
        return settings.full();
    }

    Duration budget(Duration inQuick) {
        return settings.budget(inQuick);
    }

    /**
     * Chooses a size by the mode of the run.
     *
     * @param inFull the size in a full run
     * @param inQuick the size in a quick run
     * @return one of them
     */
    public int rounds(int inFull, int inQuick) {
        return full() ? inFull : inQuick;
    }

    /**
     * Counts rounds until there were enough or the time is over; at least three.
     *
     * @param rounds how many
     * @param budget how much time a quick run has for them; a full one has ten times as much
     * @return 0, 1, 2 and so on
     */
    public Iterable<Integer> repeat(int rounds, Duration budget) {
        return timing.repeat(rounds, budget);
    }

    /**
     * Notes a measured value of a bound for the report.
     *
     * @param bound which
     * @param nanos the value
     */
    public void measure(Bound bound, long nanos) {
        measurements.add(bound, nanos);
    }

    /**
     * Notes a measured value of a bound and shows that it is within what is declared.
     *
     * @param bound which
     * @param declared what is declared; multiplied by the time-out factor
     * @param nanos the value
     */
    public void assertWithin(Bound bound, Duration declared, long nanos) {
        measure(bound, nanos);
        if (nanos > scaled(declared).toNanos()) {
            throw new AssertionError(bound + " took " + Duration.ofNanos(nanos) + ", declared are " + declared
                    + (settings.factor() == 1 ? "" : " (times " + settings.factor() + ")"));
        }
    }
}
