package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.broken.Bent.Bend;
import io.github.distributedsemaphore.tck.faults.LossRules;
import io.github.distributedsemaphore.tck.faults.RenewalRules;
import io.github.distributedsemaphore.tck.rules.AsyncRules;
import io.github.distributedsemaphore.tck.rules.ClosingRules;
import io.github.distributedsemaphore.tck.rules.FairnessRules;
import io.github.distributedsemaphore.tck.rules.InputRules;
import io.github.distributedsemaphore.tck.rules.InspectionRules;
import io.github.distributedsemaphore.tck.rules.InterruptRules;
import io.github.distributedsemaphore.tck.rules.LivenessRules;
import io.github.distributedsemaphore.tck.rules.ReleaseRules;
import io.github.distributedsemaphore.tck.rules.SafetyRules;
import io.github.distributedsemaphore.tck.rules.TaskRules;
import io.github.distributedsemaphore.tck.rules.TimeoutRules;
import io.github.distributedsemaphore.tck.rules.VerificationRules;
import java.time.Duration;
import java.util.function.Function;

/** The library is wrong at its port. The issues are of the projects where something like it happened. */
@SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
enum PortMutant implements Mutant {
    /** Who has a permit gets it again: hashicorp/consul #4902, one state for a handle. */
    PERMITS_ARE_REENTRANT(SafetyRules.class, "1.6", "the slot of a thread's second permit", BentWaits::reentrant),

    /** Of several permits those are granted that are there: redisson #1996. */
    PART_OF_A_GROUP(SafetyRules.class, "1.5", "two permits were granted where one was free", BentWaits::partial),

    /** Several permits are collected one by one: redisson #604. */
    GROUPS_ARE_COLLECTED(SafetyRules.class, "1.5", "which must be free", BentWaits::collecting),

    /** Who is interrupted while it registers stays registered: curator #855, CURATOR-462. */
    INTERRUPTED_WAITERS_HAUNT(
            SafetyRules.class, "1.8", "when everybody gave up waiting for it", BentWaits::hauntedByInterrupts),

    /** The same, found by racing the grant: curator #835. */
    INTERRUPTS_LOSE_PERMITS(InterruptRules.class, "3.6", "swallowed the permit", BentWaits::hauntedByInterrupts),

    /** Who gives up in time stays registered: curator #982. */
    TIMEOUTS_LOSE_PERMITS(TimeoutRules.class, "3.6", "swallowed the permit", BentWaits::hauntedByTimeouts),

    /** Short attempts leave something in the queue that gets its turn: python-redis-lock #14. */
    SHORT_ATTEMPTS_CLOG_THE_QUEUE(
            LivenessRules.class,
            "2.6",
            "after a storm of short attempts a release did not reach",
            BentWaits::hauntedByTimeouts),

    /** The wait shrinks under contention: hashicorp/consul PR #4346. */
    WAITS_SHRINK(TimeoutRules.class, "3.2", "gave up before its time was over", BentWaits::shrinking),

    /** The wait ends at the next tick of a slow timer. */
    WAITS_ARE_ROUNDED_UP(TimeoutRules.class, "3.2", "TIMEOUT_SLACK took", BentWaits::roundedUp),

    /** An interrupt is noticed at the next look at the clock. */
    INTERRUPTS_END_LATE(InterruptRules.class, "3.4", "OPERATION took", BentWaits::slowToLeave),

    /** No time is no attempt: swarthy/redis-semaphore PR #125. */
    ZERO_IS_NO_ATTEMPT(TimeoutRules.class, "3.3", "one attempt was made with a time of", BentWaits::noAttempt),

    /** A large number of seconds overflows into the past. */
    HUGE_WAITS_OVERFLOW(TimeoutRules.class, "3.3", "where it must wait", BentWaits::overflowing),

    /** Less than a millisecond becomes something else. */
    TINY_WAITS_BECOME_LONG(TimeoutRules.class, "3.3", "OPERATION took", BentWaits::tinyBecomesLong),

    /** An interrupt is caught and forgotten: redisson's acquireUninterruptibly by accident. */
    INTERRUPTS_ARE_SWALLOWED(
            InterruptRules.class, "3.4", "an interrupt ends DistributedSemaphore.acquire()", BentWaits::deaf),

    /** The exception is thrown and the flag set as well: spring-integration #2894. */
    INTERRUPT_FLAG_STAYS_SET(
            InterruptRules.class, "3.4", "the interrupt flag after the InterruptedException", BentWaits::flagged),

    /** With a permit free nobody looks at the flag: spring-integration #2660. */
    EARLY_INTERRUPTS_ARE_OVERLOOKED(
            InterruptRules.class, "3.4", "of a thread that was interrupted", BentWaits::overlooking),

    /** Closing tells the waiters nothing: hazelcast-nodejs-client #898. */
    CLOSE_LEAVES_WAITERS(ClosingRules.class, "3.7", "closing a client ends its waiters", BentWaits::closingLate),

    /** Closing drops the connection and leaves the rest to the lease: hazelcast #16810. */
    CLOSE_KEEPS_PERMITS(
            LivenessRules.class,
            "2.3",
            "closing a client did not free its permits",
            Variants.LONG,
            BentWaits::closingByAbort),

    /** Everybody polls, nobody queues: redisson #3573. */
    ORDER_IS_A_LOTTERY(FairnessRules.class, "11.1", "were served", BentWaits::polling),

    /** A release without a look at whose it is: redisson #5066. */
    SECOND_RELEASE_FREES_ANOTHERS(
            ReleaseRules.class, "4.1", "the next holder's permit after a second release", BentPermits::blindRelease),

    /** The failure of a task is wrapped: spring-integration #1888. */
    TASK_FAILURES_ARE_WRAPPED(
            TaskRules.class, "4.1", "the failure of a task under a permit", BentPermits::wrappingFailures),

    /** A task that fails keeps the permit: nickelser/suo, block_unlocks_on_exception. */
    FAILED_TASKS_KEEP_THE_PERMIT(TaskRules.class, "4.1", "lost permits", BentPermits::keepingAfterFailure),

    /** Each release says that it was the one: redis-py #3847. */
    EVERY_RELEASE_SAYS_RELEASED(ReleaseRules.class, "4.2", "six releases of one permit at once", BentPermits::boastful),

    /** Only the thread that acquired may release: redis-py #656, thread-local tokens. */
    PERMITS_BELONG_TO_THREADS(ReleaseRules.class, "4.5", "what a release by another thread", BentPermits::threadBound),

    /** A permit that nobody refers to is released behind the back of whoever works under it. */
    GARBAGE_IS_RELEASED(
            ReleaseRules.class, "4.10", "a permit that became garbage stays taken", BentPermits::releasingGarbage),

    /** A client knows of a semaphore for as long as the application does. */
    SEMAPHORES_ARE_FORGOTTEN(
            ReleaseRules.class, "4.10", "a permit that became garbage stays taken", BentPermits::forgettingSemaphores),

    /** Releasing one of several releases all: redisson #6343. */
    ONE_RELEASES_THE_GROUP(
            ReleaseRules.class, "4.7", "free after one of a group of three was released", BentPermits::allOrNothing),

    /** An interrupted thread's release does not arrive: spring-integration #11044. */
    INTERRUPTED_RELEASES_ARE_LOST(InterruptRules.class, "4.9", "lost permits", BentPermits::losingInterruptedReleases),

    /** A release eats the interrupt. */
    RELEASES_EAT_INTERRUPTS(
            InterruptRules.class, "4.9", "the interrupt flag after a release", BentPermits::eatingInterrupts),

    /** A permit is valid until it is released, whatever happened: swarthy/redis-semaphore #24. */
    PERMITS_ARE_VALID_FOR_EVER(
            VerificationRules.class, "5.1", "a permit is valid although verify found it lost", BentPermits::optimistic),

    /** The news comes twice: hashicorp/consul #9788. */
    LOSSES_ARE_TOLD_TWICE(LossRules.class, "6.4", "a loss is reported once", BentPermits::tellingTwice),

    /** A release is reported as a loss: swarthy/redis-semaphore #205. */
    RELEASES_ARE_TOLD_AS_LOSSES(LossRules.class, "6.5", "no loss is reported at", BentPermits::tellingReleases),

    /** Who comes after the loss is never told. */
    LATE_LISTENERS_ARE_NOT_TOLD(
            LossRules.class, "6.5", "a listener that comes after the loss", BentPermits::ignoringLateListeners),

    /** One thread for all listeners: wolph/portalocker #141. */
    LISTENERS_SHARE_A_THREAD(
            LossRules.class, "6.7", "keeps no other listener from being called", BentPermits::oneListenerThread),

    /** A cancelled future has its request go on: redisson's async semaphores before RAS testCancelledWaiter. */
    CANCELLATION_WITHDRAWS_NOTHING(AsyncRules.class, "10.2", "swallowed the permit", BentFutures::detached),

    /** The same, seen by the next in the queue. */
    CANCELLED_WAITERS_KEEP_THEIR_TURN(
            LivenessRules.class, "2.5", "a cancelled waiter did not pass the permit on", BentFutures::detached),

    /** Asking for a future waits for the backend: bluetape4k #1080. */
    ASKING_FOR_A_FUTURE_BLOCKS(AsyncRules.class, "10.1", "OPERATION took", BentFutures::blocking),

    /** All futures complete on one thread: redis/lettuce's event loop. */
    COMPLETIONS_SHARE_A_THREAD(
            AsyncRules.class, "10.4", "delays the completion of another future", BentFutures::oneThread),

    /** Closing forgets callers that have a future: RAS testRemoveListenersCompletesWaiters. */
    CLOSE_FORGETS_FUTURES(
            AsyncRules.class, "10.4", "closing a client completes its pending futures", BentFutures::forgotten),

    /** The time of a future is not watched. */
    FUTURES_HAVE_NO_TIME_OUT(AsyncRules.class, "10.1", "a future whose time is over fails", BentFutures::endless),

    /** The time of a future is watched by a slow timer. */
    FUTURES_ARE_ROUNDED_UP(AsyncRules.class, "10.1", "TIMEOUT_SLACK took", BentFutures::roundedUp),

    /** A waiter that times out stays in the count. */
    TIMED_OUT_WAITERS_ARE_STILL_COUNTED(
            InspectionRules.class, "9.4", "waiters that are counted when none is left", BentNumbers::leftWaiters),

    /** The statistics know no losses. */
    LOSSES_ARE_NOT_COUNTED(
            LossRules.class, "6.4", "of two permits one is counted as lost", BentNumbers::lossesNotCounted),

    /** The statistics know no renewals. */
    RENEWALS_ARE_NOT_COUNTED(RenewalRules.class, "6.1", "renewals that are counted", BentNumbers::renewalsNotCounted),

    /** What is lost goes on being renewed. */
    LOST_PERMITS_ARE_RENEWED(LossRules.class, "6.4", "nothing is renewed after", BentNumbers::renewingForEver),

    /** A listener gets an instant in place of a duration. */
    HELD_SINCE_EVER(InspectionRules.class, "9.4", "the times for which permits were held", BentNumbers::heldSinceEver),

    /** Bad names are mended: HikariCP's way with settings. */
    BAD_NAMES_ARE_MENDED(InputRules.class, "12.1", "must be refused", BentNumbers::mendedNames),

    /** No permits are granted to whom asks for none: redisson's acquire(0). */
    ZERO_PERMITS_ARE_GRANTED(InputRules.class, "12.3", "must be refused", BentNumbers::refusedAsFull),

    /** Bad limits are mended: HikariCP's way with settings. */
    BAD_LIMITS_ARE_MENDED(InputRules.class, "12.3", "must be refused", BentNumbers::mendedLimits);

    private final Recipe recipe;

    PortMutant(Class<?> section, String rule, String message, Function<ProbedServer, Bend> bend) {
        this(section, rule, message, Duration.ofSeconds(1), bend);
    }

    PortMutant(Class<?> section, String rule, String message, Duration lease, Function<ProbedServer, Bend> bend) {
        recipe = new Recipe(section, rule, message, Variants.port(lease, bend));
    }

    @Override
    public Recipe recipe() {
        return recipe;
    }
}
