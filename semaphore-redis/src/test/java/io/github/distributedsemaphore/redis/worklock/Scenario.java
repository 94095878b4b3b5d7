package io.github.distributedsemaphore.redis.worklock;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a worker does, command by command, and what the key holds after each.
 *
 * @param name for people
 * @param initial what the key holds at first; null if it is absent
 * @param maxAttempts of the workers
 * @param steps the commands and their effects
 */
record Scenario(String name, @Nullable String initial, int maxAttempts, List<Step> steps) {
    /**
     * A command.
     *
     * @param command as it is sent, K for the key
     * @param after what the key holds then; null if it is absent
     */
    record Step(String command, @Nullable String after) {}

    private static Scenario of(String name, @Nullable String initial, int maxAttempts, String... commands) {
        List<Step> steps = new ArrayList<>();
        String value = initial;
        for (String command : commands) {
            String[] words = command.split(" -> ", -1);
            if (words.length > 1) {
                value = words[1].equals("absent") ? null : words[1];
            }
            steps.add(new Step(words[0], value));
        }
        return new Scenario(name, initial, maxAttempts, steps);
    }

    private static String[] join(String[]... parts) {
        return Arrays.stream(parts).flatMap(Stream::of).toArray(String[]::new);
    }

    private static String[] commands(String... commands) {
        return commands;
    }

    @Nullable
    String before(int step) {
        return step == 0 ? initial : steps.get(step - 1).after();
    }

    @Nullable
    String after(int step) {
        return steps.get(step).after();
    }

    static List<Scenario> java() {
        String[] first = commands("SET K 1 NX");
        String[] look = commands("WATCH K", "GET K", "PTTL K");
        String[] done = commands("SET K DONE PX 3600000 GET -> DONE");
        String[] takeOver = join(first, look, look, commands("MULTI", "SET K 2", "EXEC -> 2"), done);
        return List.of(
                of("first", null, 3, join(commands("SET K 1 NX -> 1"), done)),
                of("take-over", "1", 3, takeOver),
                of("last", "1", 2, takeOver),
                of("clean-up", "DONE", 3, join(first, look, commands("MULTI", "PEXPIRE K 3600000", "EXEC"))),
                of("give-up", "3", 3, join(first, look, look, commands("MULTI", "PEXPIRE K 1200000", "EXEC"))),
                of("mend", "NaN", 3, join(first, look, commands("MULTI", "SET K DONE PX 3600000", "EXEC -> DONE"))));
    }

    static List<Scenario> foreign() {
        String[] first = commands("SETNX K 1");
        String[] check = commands("WATCH K", "MULTI", "GET K", "EXEC");
        String[] reacquire = commands("WATCH K", "GET K", "MULTI", "SET K 2", "EXEC -> 2");
        String[] exhausted = commands("WATCH K", "GET K", "UNWATCH", "EXPIRE K 1200");
        return List.of(
                of("first", null, 3, "SETNX K 1 -> 1", "SET K DONE -> DONE"),
                of("take-over", "1", 3, join(first, check, reacquire, commands("SET K DONE -> DONE"))),
                of("last", "1", 2, join(first, check, reacquire, commands("DEL K -> absent"))),
                of("clean-up", "DONE", 3, join(first, check, commands("DEL K -> absent"))),
                of("give-up", "3", 3, join(first, check, check, exhausted)));
    }
}
