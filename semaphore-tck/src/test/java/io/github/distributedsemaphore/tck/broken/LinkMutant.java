package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.tck.faults.BriefFaultRules;
import io.github.distributedsemaphore.tck.faults.CutRules;
import io.github.distributedsemaphore.tck.faults.IsolationRules;
import io.github.distributedsemaphore.tck.faults.LostAdministrationRules;
import io.github.distributedsemaphore.tck.faults.LostAnswerRules;
import io.github.distributedsemaphore.tck.faults.StallRules;
import io.github.distributedsemaphore.tck.faults.TrafficRules;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import java.time.Duration;
import java.util.Collection;
import java.util.Set;
import java.util.function.Supplier;

/** What an implementation makes of a link that loses, stalls or breaks is wrong. The issues are of projects where it happened. */
@SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
enum LinkMutant implements Mutant {
    /** A request is sent again blindly: hazelcast's retried acquires before 4.1, lettuce's replay of what was in flight. */
    LOST_ANSWERS_ARE_ASKED_FOR_AGAIN(
            LostAnswerRules.class,
            "1.7",
            "one acquire whose answer was lost takes one permit",
            LinkVariants.linked(LinkVariants.Gullible::new, BrokenLinks.Repeating::new)),

    /** What was taken for nobody stays taken: curator's CURATOR-315. */
    LOST_GRANTS_LEAK(
            LostAnswerRules.class,
            "1.7",
            "of which was said that it changed nothing",
            LinkVariants.linked(LinkVariants.Endless::new, BrokenLinks.Certain::new)),

    /** No answer is taken for a no. */
    LOST_ANSWERS_ARE_REFUSALS(
            LostAnswerRules.class,
            "1.7",
            "a lost answer was taken for a refusal",
            LinkVariants.spi(
                    call -> call.is(BackendSession.class, "exchange", "resolve") ? orRefusal(call) : call.proceed())),

    /** A release that is tried again frees whoever has the slot by then. */
    RELEASES_AGAIN_FREE_THE_SUCCESSOR(
            LostAnswerRules.class,
            "4.6",
            "a release that is tried again leaves the successor alone",
            LinkVariants.linked(LinkVariants.BySlot::new, BrokenLinks.Certain::new)),

    /** What was done is said not to have been. */
    ADMINISTRATION_CLAIMS_TO_HAVE_FAILED(
            LostAdministrationRules.class,
            "8.9",
            "of which was said that it changed nothing",
            LinkVariants.linked(BrokenLinks.Certain::new)),

    /** A change takes two steps, and what comes after a lost answer is not done. */
    ADMINISTRATION_STOPS_HALF_WAY(
            LostAdministrationRules.class,
            "8.9",
            "where ATOMIC_ADMINISTRATION is declared",
            LinkVariants.served(LinkVariants.HalfWay::new)),

    /** A repeated request adds once more: hazelcast's RetriedIncreasePermitsAppliedOnlyOnce. */
    RESIZES_ADD_UP(
            LostAdministrationRules.class,
            "8.9",
            "limit after a resize",
            LinkVariants.served(LinkVariants.Growing::new)),

    /** One cut, and the client never works again. */
    BROKEN_CONNECTIONS_ARE_KEPT(
            CutRules.class,
            "13.1",
            "the same client does not work again after the fault",
            LinkVariants.linked(BrokenLinks.Faithful::new)),

    /** Whoever cannot be asked has none free. */
    OUT_OF_REACH_IS_FULL(
            CutRules.class,
            "13.1",
            "where the backend is out of reach, so nobody can know",
            LinkVariants.spi(
                    call -> call.is(BackendSession.class, "exchange", "resolve") ? orRefusal(call) : call.proceed())),

    /** Calls wait until the backend is back, however long that is. */
    OUT_OF_REACH_IS_WAITED_OUT(
            CutRules.class,
            "13.1",
            "although the backend does not answer",
            LinkVariants.linked(server -> new BrokenLinks.Stubborn(server, 1_500))),

    /** A failure that does not say of what. */
    FAILURES_ARE_NAMELESS(CutRules.class, "13.1", "without naming semaphore", LinkVariants.port(call -> {
        try {
            return call.proceed();
        } catch (BackendUnavailableException e) {
            throw new BackendUnavailableException("It did not work", e);
        }
    })),

    /** The answer is what was last known. */
    VERIFY_REMEMBERS(
            CutRules.class,
            "5.2",
            "verify says that a permit is held although the backend is out of reach",
            LinkVariants.spi(call -> call.is(BackendSession.class, "check") ? HoldState.HELD : call.proceed())),

    /** Valid until told otherwise. */
    VALIDITY_ENDS_WITH_BAD_NEWS_ONLY(
            CutRules.class,
            "5.2",
            "says that it is valid after the time that it gave itself",
            LinkVariants.port(call -> call.is(Permit.class, "isValid") ? true : call.proceed())),

    /** The watch is gone with the connection, and nobody looks again: redisson #5762. */
    WAITERS_ARE_FORGOTTEN_WITH_THE_CONNECTION(CutRules.class, "13.2", "it hangs", LinkVariants.hintsOnly(call -> {
        if (call.is(BackendSession.class, "watch")) {
            return (BackendSession.Watch) () -> {};
        }
        return call.is(BackendSession.class, "exchange", "resolve") ? orRefusal(call) : call.proceed();
    })),

    /** Each reconnection leaves a connection behind: curator #460, lettuce #1201. */
    RECONNECTING_LEAVES_CONNECTIONS(
            TrafficRules.class,
            "16.5",
            "reconnecting leaves connections behind",
            LinkVariants.linked(BrokenLinks.Hoarding::new)),

    /** Each reconnection starts one more that keeps the session alive. */
    RECONNECTING_MULTIPLIES_HEARTBEATS(
            TrafficRules.class, "16.5", "bytes sent by one holder", LinkVariants.linked(BrokenLinks.Chatty::new)),

    /** Each reconnection registers one more listener, and each of them asks when a hint comes. */
    RECONNECTING_MULTIPLIES_LISTENERS(
            TrafficRules.class,
            "16.5",
            "while permits were handed over",
            LinkVariants.linked(BrokenLinks.Echoing::new)),

    /** One error, and the permit is given up. */
    ONE_ERROR_LOSES_THE_PERMIT(
            BriefFaultRules.class, "13.3", "a permit whose holder was cut off for a moment", LinkVariants.spi(call -> {
                try {
                    return call.proceed();
                } catch (BackendUnavailableException e) {
                    if (call.is(BackendSession.class, "check")) {
                        return HoldState.LOST;
                    }
                    throw e;
                }
            })),

    /** Validity counts from the answer, and then some. */
    CUT_OFF_HOLDERS_BELIEVE_ON(
            IsolationRules.class,
            "1.10",
            "how long a holder said to be valid",
            LinkVariants.spi(LinkMutant::stretched)),

    /** A renewal that is under way counts as done. */
    RENEWALS_COUNT_WHEN_SENT(
            IsolationRules.class, "14.3", "how long a holder said to be valid", LinkVariants.spi(call -> {
                try {
                    return call.proceed();
                } catch (BackendUnavailableException e) {
                    if (call.is(BackendSession.class, "renew")) {
                        return new Renewal(
                                Deadline.after(System.nanoTime(), Duration.ofSeconds(1)), Set.of(), Set.of());
                    }
                    throw e;
                }
            })),

    /** Who is cut off is not told when its time is over. */
    CUT_OFF_HOLDERS_ARE_NOT_TOLD(
            IsolationRules.class,
            "13.3",
            "a holder that was cut off is told of its loss",
            LinkVariants.port(call -> call.is(Permit.class, "onLost") ? null : call.proceed())),

    /** No time-out on answers: Consul's Go client before 0.7, jedis without a socket time-out. */
    SILENCE_IS_WAITED_OUT(
            StallRules.class,
            "13.5",
            "although the backend does not answer",
            LinkVariants.linked(BrokenLinks.Patient::new)),

    /** Asks first whether there is anything to ask for. */
    FUTURES_ASK_BEFORE_THEY_ARE_GIVEN(
            StallRules.class, "10.3", "blocked its caller while the backend stalls", LinkVariants.port(call -> {
                if (call.is(DistributedSemaphore.class, "acquireAsync")) {
                    askFirst(call.target(DistributedSemaphore.class));
                }
                return call.proceed();
            })),

    /** A renewal that takes its time is taken for none: redisson #3714. */
    SLOW_RENEWALS_ARE_LOSSES(
            StallRules.class,
            "13.6",
            "losses reported behind a slow link|was lost without a fault",
            LinkVariants.spi(call -> {
                long start = System.nanoTime();
                Object right = call.proceed();
                boolean slow = System.nanoTime() - start > Duration.ofMillis(20).toNanos();
                if (slow && right instanceof Renewal renewal) {
                    return new Renewal(renewal.validUntil(), holds(call), renewal.retired());
                }
                return right;
            }));

    @SuppressWarnings("unchecked")
    private static Set<Hold> holds(Bent.Call call) {
        return Set.copyOf((Collection<Hold>) call.argument(0, Collection.class));
    }

    private final Recipe recipe;

    LinkMutant(Class<?> section, String rule, String message, Supplier<SemaphoreTckHarness> harness) {
        recipe = new Recipe(section, rule, message, harness);
    }

    @Override
    public Recipe recipe() {
        return recipe;
    }

    private static Object orRefusal(Bent.Call call) throws Throwable {
        return Refusals.orRefusal(call);
    }

    private static void askFirst(DistributedSemaphore semaphore) {
        try {
            int unused = semaphore.availablePermits();
        } catch (BackendUnavailableException | OutcomeUnknownException e) {
            // Then it is asked for all the same.
        }
    }

    private static Object stretched(Bent.Call call) throws Throwable {
        Object right = call.proceed();
        Deadline later = Deadline.after(System.nanoTime(), Duration.ofSeconds(3));
        if (right instanceof ExchangeResult result) {
            return result.toBuilder().validUntil(later).build();
        } else if (right instanceof Renewal renewal) {
            return new Renewal(later, renewal.lost(), renewal.retired());
        }
        return right;
    }
}
