package io.github.distributedsemaphore.tck.run;

import io.github.distributedsemaphore.spi.support.Durations;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.opentest4j.TestAbortedException;

/**
 * How long histories are recorded under each kind of fault.
 *
 * @param shapes which kinds are recorded, as a regular expression; empty for a few that the harness can bring about, by the seed
 * @param length for how long faults strike
 */
public record TckHistories(String shapes, Duration length) {
    private static final String ALL = ".*";
    private static final int CHOSEN = 5;
    private static final Duration QUICK = Duration.ofMillis(1_200);
    private static final Duration FULL = Duration.ofMinutes(3);
    private static final Duration LONG = Duration.ofSeconds(10);

    static TckHistories quick() {
        return new TckHistories("", QUICK);
    }

    static TckHistories full() {
        return new TckHistories(ALL, FULL);
    }

    /** All kinds together take that long. */
    static TckHistories soak(Duration together) {
        return new TckHistories(ALL, together.dividedBy(FaultShape.values().length));
    }

    TckHistories with(String otherShapes, String otherLength) {
        return new TckHistories(
                otherShapes.isEmpty() ? shapes : otherShapes,
                otherLength.isEmpty() ? length : Durations.parse(otherLength));
    }

    /**
     * Ends the test of a kind of fault that is not recorded in this run.
     *
     * @param possible the kinds that the harness can bring about
     */
    public void require(FaultShape shape, Set<FaultShape> possible, long seed) {
        boolean wanted = shapes.isEmpty()
                ? chosen(possible, seed).contains(shape)
                : shape.name().matches(shapes);
        // What the harness cannot bring about says so itself, with what it lacks.
        if (!wanted && possible.contains(shape)) {
            throw new TestAbortedException(
                    shape + " is not among the kinds of faults that this run records: a quick one records "
                            + chosen(possible, seed) + ", by its seed");
        }
    }

    /** Changes of the limit, one kind of fault from each place, and more by the seed: of those that can be brought about. */
    static Set<FaultShape> chosen(Set<FaultShape> possible, long seed) {
        List<FaultShape> shuffled = new ArrayList<>(possible);
        Collections.sort(shuffled);
        Collections.shuffle(shuffled, new Random(seed));
        Set<FaultShape> chosen = EnumSet.noneOf(FaultShape.class);
        Set<FaultShape.Place> places = EnumSet.noneOf(FaultShape.Place.class);
        for (FaultShape shape : shuffled) {
            if (places.add(shape.place())) {
                chosen.add(shape);
            }
        }
        for (FaultShape shape : shuffled) {
            if (chosen.size() < CHOSEN) {
                chosen.add(shape);
            }
        }
        return chosen;
    }

    private boolean isLong() {
        return length.compareTo(LONG) >= 0;
    }

    /** How long nothing is disturbed at first. */
    public Duration calm() {
        return isLong() ? Duration.ofSeconds(5) : Duration.ofMillis(300);
    }

    /** How many grants there must be in that time, if the rest is to say anything: fifty in a second of a long history. */
    public long leastGrantsWhenCalm() {
        return isLong() ? 50 * calm().toSeconds() : 1;
    }

    /** How long to wait between two faults. */
    public long gapMillis(Random random) {
        return 50L + random.nextInt(isLong() ? 2_000 : 150);
    }

    /** How long a fault lasts. */
    public long faultMillis(Random random) {
        return 20L + random.nextInt(isLong() && random.nextInt(4) == 0 ? 1_500 : 200);
    }
}
