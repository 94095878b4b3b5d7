package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Plays many random schedules of the engine; replay one by {@code -Dsimulation.seed=N -Dsimulation.schedules=1}.
 */
class EngineSimulationTest {
    private static final int SCHEDULES = Integer.getInteger("simulation.schedules", 10_000);
    private static final long SEED = Long.getLong("simulation.seed", System.nanoTime());

    /** What the schedules must have come across, or they have shown nothing. */
    private static final String[] SOMETIMES = {
        "all slots held",
        "refusal",
        "time-out",
        "interrupt",
        "interrupt after grant",
        "cancellation",
        "closed while waiting",
        "destroyed while waiting",
        "loss",
        "release after loss",
        "unknown acquire",
        "unavailable",
        "unconfirmed release",
        "abort",
        "crash",
        "session end",
        "prompt return",
        "inspection"
    };

    @Test
    @Timeout(value = 10, unit = TimeUnit.MINUTES) // half a minute of work, which a busy machine may not get at once
    void noScheduleBreaksAPromise() {
        Map<String, Integer> seen = new TreeMap<>();
        for (long seed = SEED; seed < SEED + SCHEDULES; seed++) {
            try {
                new Scenario(seed).play().forEach((what, count) -> seen.merge(what, count, Integer::sum));
            } catch (Throwable e) {
                throw new AssertionError(
                        "replay by -Dsimulation.seed=" + seed + " -Dsimulation.schedules=1: " + e.getMessage(), e);
            }
        }
        System.out.println("simulated " + SCHEDULES + " schedules from seed " + SEED + ": " + seen);
        if (SCHEDULES >= 1_000) {
            assertThat(seen).containsKeys(SOMETIMES);
        }
    }

    @Test
    void aSeedIsASchedule() throws Throwable {
        for (long seed = SEED; seed < SEED + 100; seed++) {
            assertThat(trace(seed)).as("seed %s, played twice", seed).isEqualTo(trace(seed));
        }
    }

    private static String trace(long seed) throws Throwable {
        Scenario scenario = new Scenario(seed);
        return scenario.play() + " " + scenario.trace();
    }
}
