package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.LinkedMemoryHarness;
import io.github.distributedsemaphore.tck.faults.OutageRules;
import io.github.distributedsemaphore.tck.faults.StoppedServerRules;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/** What callers and waiters get to feel of a backend that does not answer is wrong. */
@SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
enum OutageMutant implements Mutant {
    /** The caller's thread does the request, and is deaf until it is answered: this library before its rule 3.9. */
    TIME_OUTS_WAIT_FOR_THE_ANSWER(
            OutageRules.class, "3.9", "after its time-out of", LinkVariants.port(OutageMutant::askFirst)),

    /** The same, seen by the interrupting thread. */
    INTERRUPTS_WAIT_FOR_THE_ANSWER(
            OutageRules.class, "3.10", "after an interrupt came", LinkVariants.port(OutageMutant::askFirst)),

    /** An interrupt is taken for a failure of the backend. */
    INTERRUPTS_ARE_FAILURES(OutageRules.class, "3.10", "that is interrupted", LinkVariants.port(call -> {
        try {
            return call.proceed();
        } catch (InterruptedException e) {
            throw new BackendUnavailableException("interrupted", e);
        }
    })),

    /** A client asks for one caller at a time, and the next one waits for a lock that knows no time. */
    ONE_CALL_AT_A_TIME(OutageRules.class, "3.11", "came", () -> {
        ReentrantLock lock = new ReentrantLock();
        return LinkVariants.port(call -> {
                    if (!call.is(DistributedSemaphore.class, "tryAcquire")) {
                        return call.proceed();
                    }
                    lock.lock();
                    try {
                        return call.proceed();
                    } finally {
                        lock.unlock();
                    }
                })
                .get();
    }),

    /** Callers share the fate of the request that was under way when they came. */
    ALL_CALLERS_ARE_IN_DOUBT(OutageRules.class, "3.11", "although it was never sent", LinkVariants.port(call -> {
        Object right;
        try {
            right = call.proceed();
        } catch (BackendUnavailableException e) {
            throw new OutcomeUnknownException("not answered", e);
        }
        if (call.is(DistributedSemaphore.class, "tryAcquire")
                && call.has(Duration.class)
                && call.argument(0, Duration.class).equals(Duration.ofMillis(100))
                && Optional.empty().equals(right)) {
            throw new OutcomeUnknownException("not answered", new IllegalStateException("a guess"));
        }
        return right;
    })),

    /** A client that closes says good-bye first, and its waiters hear of it afterwards. */
    CLOSE_ASKS_THE_BACKEND_FIRST(OutageRules.class, "3.12", "after close() came", LinkVariants.port(call -> {
        if (call.is(SemaphoreClient.class, "close")) {
            try {
                call.target(SemaphoreClient.class).admin().describe("good-bye");
            } catch (BackendUnavailableException e) {
                // Then without.
            }
        }
        return call.proceed();
    })),

    /** The first outage ends all waits: this library before its rule 3.13, with a Redis that restarts. */
    OUTAGES_END_WAITS(OutageRules.class, "3.13", "does not wait on while the backend is away", patience("0s")),

    /** The same, seen by a caller that waits for a server. */
    RESTARTS_END_WAITS(StoppedServerRules.class, "3.13", "does not wait on while the backend is away", patience("0s")),

    /** The wait for retired holders asks again and again, and ends with the first question that is not answered. */
    OUTAGES_END_THE_WAIT_FOR_HOLDERS(
            OutageRules.class, "3.13", "awaitReleased(maxWait) behind", LinkVariants.port(call -> {
                if (!call.is(SemaphoreAdmin.class, "awaitReleased")) {
                    return call.proceed();
                }
                SemaphoreAdmin admin = call.target(SemaphoreAdmin.class);
                while (!admin.awaitReleased(call.argument(0, String.class), Duration.ZERO)) {
                    Thread.sleep(20);
                }
                return true;
            })),

    /** Waits go on, whatever was asked for. */
    PATIENCE_HAS_NO_END(OutageRules.class, "3.13", "gives up at once", patience("1h")),

    /** A failure that does not say for how long somebody tried. */
    NOBODY_SAYS_HOW_LONG(OutageRules.class, "3.13", "in its message", LinkVariants.port(call -> {
        try {
            return call.proceed();
        } catch (BackendUnavailableException | OutcomeUnknownException e) {
            String name = call.target() instanceof DistributedSemaphore semaphore ? semaphore.name() : "it";
            throw new BackendUnavailableException("Semaphore '" + name + "': away", e);
        }
    })),

    /** What comes for a caller that has left is kept. */
    LATE_GRANTS_ARE_KEPT(OutageRules.class, "3.14", "hold nothing afterwards", LinkVariants.port(call -> {
        try {
            return call.proceed();
        } catch (BackendUnavailableException | OutcomeUnknownException | InterruptedException e) {
            if (call.is(DistributedSemaphore.class, "acquire", "tryAcquire")) {
                Ghosts.haunt(call);
            }
            throw e;
        }
    })),

    /** What was not answered in time counts as not done, and is forgotten. */
    UNANSWERED_GRANTS_LEAK(
            OutageRules.class,
            "3.14",
            "hold nothing afterwards",
            LinkVariants.linked(LinkVariants.Endless::new, BrokenLinks.Certain::new));

    private final Recipe recipe;

    OutageMutant(Class<?> section, String rule, String message, Supplier<SemaphoreTckHarness> harness) {
        recipe = new Recipe(section, rule, message, harness);
    }

    @Override
    public Recipe recipe() {
        return recipe;
    }

    /** Asks on the caller's thread whether something is free before it waits. */
    private static Object askFirst(Bent.Call call) throws Throwable {
        boolean tries = call.is(DistributedSemaphore.class, "tryAcquire")
                && !call.parameterTypes().contains(Duration.class);
        if (call.is(DistributedSemaphore.class, "acquire", "tryAcquire") && !tries) {
            try {
                call.target(DistributedSemaphore.class).tryAcquire().ifPresent(Permit::close);
            } catch (BackendUnavailableException | OutcomeUnknownException e) {
                // Then it waits.
            }
        }
        return call.proceed();
    }

    /** Another patience than the one that was asked for. */
    private static Supplier<SemaphoreTckHarness> patience(String always) {
        return () -> new LinkedMemoryHarness(LinkedMemoryHarness.ALL) {
            @Override
            protected ClientSpec wanted(ClientSpec spec) {
                return spec.with("outagePatience", always);
            }
        };
    }
}
