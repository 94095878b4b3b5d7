package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.broken.Bent.Bend;
import io.github.distributedsemaphore.tck.rules.ContentionRules;
import io.github.distributedsemaphore.tck.rules.FairnessRules;
import io.github.distributedsemaphore.tck.rules.InterruptRules;
import io.github.distributedsemaphore.tck.rules.LivenessRules;
import io.github.distributedsemaphore.tck.rules.TimeoutRules;
import java.time.Duration;
import java.util.function.Function;

/** Who waits, for how long and in which order is wrong. */
@SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
enum WaitMutant implements Mutant {
    /** Waiters are a stack: who comes back at once is always on top, and those below starve. */
    LAST_COME_FIRST_SERVED(ContentionRules.class, "2.7", "a contender got no turn within", BentQueues::stacked),

    /** A wait is one request, and ends with the time-out that all requests have. */
    WAITS_END_WITH_A_REQUEST(
            LivenessRules.class, "2.12", "a patient waiter goes on waiting", BentWaits::cutToTwoSeconds),

    /** Each thread that waits has a connection for itself, of a pool of eight. */
    WAITERS_KEEP_CONNECTIONS(ContentionRules.class, "2.13", "OPERATION took", BentQueues::oneConnectionEach),

    /** A flag that is in the way is taken down, and nobody puts it up again. */
    TRY_CLEARS_THE_FLAG(
            InterruptRules.class,
            "3.5",
            "the interrupt flag after a try and a release",
            BentWaits::tryingWithoutTheFlag),

    /** An interrupted thread is sent away, whatever is free. */
    TRY_REFUSES_THE_INTERRUPTED(
            InterruptRules.class,
            "3.5",
            "a try of an interrupted thread, with a permit free",
            BentWaits::refusingTheInterrupted),

    /** Who holds is known by the name of the thread, and virtual threads have none. */
    THREADS_ARE_KNOWN_BY_NAME(TimeoutRules.class, "3.8", "times too many", BentQueues::knownByThreadName) {
        @Override
        public boolean canBeMade() {
            return Runtime.version().feature() >= 21;
        }
    },

    /** Waiters are in an array, and the gap that one leaves is filled with the last. */
    GAPS_ARE_FILLED_WITH_THE_LAST(
            FairnessRules.class, "11.2", "were served after two others had left", BentQueues::closingGapsWithTheLast);

    private final Recipe recipe;

    WaitMutant(Class<?> section, String rule, String message, Function<ProbedServer, Bend> bend) {
        recipe = new Recipe(section, rule, message, Variants.port(Duration.ofSeconds(1), bend));
    }

    @Override
    public Recipe recipe() {
        return recipe;
    }
}
