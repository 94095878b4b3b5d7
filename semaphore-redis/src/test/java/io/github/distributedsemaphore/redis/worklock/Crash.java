package io.github.distributedsemaphore.redis.worklock;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where a worker dies.
 *
 * @param scenario what it does
 * @param step the command at which it dies
 * @param answered whether the server has done it
 */
record Crash(Scenario scenario, int step, boolean answered) {
    String key() {
        return "job-" + scenario.name() + "-" + step + (answered ? "-after" : "-before");
    }

    /** What the key holds when it dies. */
    @Nullable
    String value() {
        return answered ? scenario.after(step) : scenario.before(step);
    }

    /**
     * Whether somebody stood behind the worker when its last command came: that is so from when it has the job. Else
     * somebody comes when it dies.
     */
    private boolean isWatched() {
        return scenario.steps().get(step).command().matches("SET K DONE.*|DEL K")
                && !scenario.name().equals("clean-up")
                && !scenario.name().equals("mend");
    }

    private long attempt() {
        String value = value();
        return value != null && value.matches("\\d+") ? Long.parseLong(value) : 0;
    }

    List<String> expectedOfJava() {
        String value = value();
        if (value == null) {
            // Who comes when the other kind has cleaned up cannot know that the job was done.
            return isWatched() ? List.of("locked", "end GONE") : List.of("acquired false", "end DONE");
        } else if (attempt() == 0) {
            return List.of("locked", "end FINISHED_ELSEWHERE");
        } else if (attempt() >= scenario.maxAttempts()) {
            return List.of("locked", "max-attempts", "end EXHAUSTED");
        }
        return List.of("locked", "acquired " + (attempt() + 1 == scenario.maxAttempts()), "end DONE");
    }

    List<String> expectedOfForeign() {
        return expectedOfJava().stream()
                .map(line -> line.startsWith("end") ? "end" : line)
                .toList();
    }

    @Override
    public String toString() {
        return scenario.name() + ", " + (answered ? "after " : "before ")
                + scenario.steps().get(step).command() + " (step " + (step + 1) + ")";
    }
}
