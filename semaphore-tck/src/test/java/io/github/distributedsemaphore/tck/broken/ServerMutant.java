package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.tck.faults.ErrorRules;
import io.github.distributedsemaphore.tck.faults.FailOverRules;
import io.github.distributedsemaphore.tck.faults.RestartRules;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.storms.FaultHistoryRules;
import io.github.distributedsemaphore.tck.storms.StormRules;
import java.time.Duration;
import java.util.Set;
import java.util.function.Supplier;

/** What becomes of semaphores when their server stops, starts, fails over or errs is wrong. */
@SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
enum ServerMutant implements Mutant {
    /** Semaphores are gone with the process of the server: a Redis without appendonly that is called durable. */
    RESTART_FORGETS_SEMAPHORES(
            RestartRules.class,
            "13.7",
            "the semaphore after a restart, where DURABLE_STATE is declared",
            LinkVariants.served(() -> new LinkVariants.Forgetful(true, false, false))),

    /** Holders are gone and their slots are granted again: queues of RabbitMQ that are not durable. */
    RESTART_FORGETS_HOLDERS(
            RestartRules.class,
            "13.7",
            "by BACKEND_RESTART",
            LinkVariants.served(() -> new LinkVariants.Forgetful(false, true, false))),

    /** Epochs begin anew: a counter that nobody wrote down. */
    RESTART_RESETS_EPOCHS(
            RestartRules.class,
            "7.2",
            "epoch after a restart",
            LinkVariants.served(() -> new LinkVariants.Forgetful(false, false, true))),

    /** Holders never hear that their data are gone: redisson #3187. */
    LOST_DATA_ARE_NOT_TOLD(
            RestartRules.class,
            "12.6",
            "is told of its loss",
            LinkVariants.port(call -> call.is(Permit.class, "onLost") ? null : call.proceed())),

    /** All come back at once and at any cost: consul #1165. */
    COMING_BACK_IS_A_STORM(
            RestartRules.class,
            "13.10",
            "a storm",
            LinkVariants.linked(server -> new BrokenLinks.Stubborn(server, 200))),

    /** After a restart nobody finds back. */
    NOBODY_COMES_BACK(RestartRules.class, "13.10", "ends within", LinkVariants.linked(BrokenLinks.Faithful::new)),

    /** The replica counts epochs on its own. */
    FAIL_OVER_RESETS_EPOCHS(
            FailOverRules.class,
            "7.2",
            "epoch after a fail-over",
            LinkVariants.served(() -> new LinkVariants.Forgetful(false, false, true))),

    /** Renewal asks whether the client lives, and not what it holds. */
    FAIL_OVER_HIDES_LOSSES(FailOverRules.class, "13.8", "is told of its loss", LinkVariants.spi(call -> {
        Object right = call.proceed();
        return right instanceof Renewal renewal
                ? new Renewal(renewal.validUntil(), Set.of(), renewal.retired())
                : right;
    })),

    /** Holders are gone, and never hear of it: redisson #3187, at a fail-over. */
    FAIL_OVER_LOSSES_ARE_NOT_TOLD(
            FailOverRules.class,
            "13.8",
            "a holder that a fail-over cost its slot is notified",
            LinkVariants.port(
                    () -> new LinkVariants.Forgetful(false, true, false),
                    call -> call.is(Permit.class, "onLost") ? null : call.proceed())),

    /** An error is taken for a no: suo's empty lock on invalid data, the other way round. */
    ERRORS_ARE_REFUSALS(
            ErrorRules.class,
            "13.9",
            "what an error of the backend",
            LinkVariants.spi(
                    call -> call.is(BackendSession.class, "exchange") ? Refusals.orRefusal(call) : call.proceed())),

    /** A renewal that fails counts as one: it will work the next time. */
    ERRORS_RENEW(
            ErrorRules.class,
            "6.6",
            "that cannot be renewed for longer than its validity is not valid any more",
            LinkVariants.spi(call -> {
                try {
                    return call.proceed();
                } catch (BackendUnavailableException e) {
                    if (call.is(BackendSession.class, "renew")) {
                        return new Renewal(
                                Deadline.after(System.nanoTime(), Duration.ofSeconds(2)), Set.of(), Set.of());
                    }
                    throw e;
                }
            })),

    /** Under all faults at once a slot is granted twice: etcd #11456, RabbitMQ's mutex of 2014. */
    STORMS_GRANT_TWICE(
            StormRules.class,
            "1.12",
            "in the storm [1.2]",
            LinkVariants.served(() -> new LinkVariants.Forgetful(false, true, false))),

    /** Each restart lets others into slots that are held. */
    A_KILLED_SERVER_GRANTS_TWICE(
            FaultHistoryRules.class,
            "1.12",
            "under SERVER_KILLED [1.2]",
            LinkVariants.served(() -> new LinkVariants.Forgetful(false, true, false)));

    private final Recipe recipe;

    ServerMutant(Class<?> section, String rule, String message, Supplier<SemaphoreTckHarness> harness) {
        recipe = new Recipe(section, rule, message, harness);
    }

    @Override
    public Recipe recipe() {
        return recipe;
    }
}
