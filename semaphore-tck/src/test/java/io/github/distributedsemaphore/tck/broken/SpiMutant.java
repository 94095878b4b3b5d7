package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.HoldState;
import io.github.distributedsemaphore.spi.Renewal;
import io.github.distributedsemaphore.tck.broken.Bent.Bend;
import io.github.distributedsemaphore.tck.faults.LossRules;
import io.github.distributedsemaphore.tck.rules.ContentionRules;
import io.github.distributedsemaphore.tck.rules.LivenessRules;
import io.github.distributedsemaphore.tck.rules.TimeoutRules;
import io.github.distributedsemaphore.tck.rules.VerificationRules;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/** The adapter is wrong. The issues are of the projects where something like it happened. */
@SuppressWarnings("ImmutableEnumChecker") // recipes, which keep nothing
enum SpiMutant implements Mutant {
    /** The subscription is silently gone: redisson #7264, lettuce #586. */
    WATCH_IS_DEAF(LivenessRules.class, "2.1", "did not wake the waiter of another client", Variants.LONG, call -> {
        if (call.is(BackendSession.class, "watch")) {
            return (BackendSession.Watch) () -> {};
        }
        return call.proceed();
    }),

    /** Of the clients that are told at about the same time one hears it. */
    A_HINT_REACHES_ONE_CLIENT(
            LivenessRules.class, "2.1", "two releases serve two of three waiters", Variants.LONG, call -> {
                if (call.is(BackendSession.class, "watch")) {
                    Runnable hint = call.argument(0, Runnable.class);
                    return call.proceedWith((Runnable) () -> once(hint));
                }
                return call.proceed();
            }),

    /** Each request takes seconds: hashicorp/consul #1006. */
    REQUESTS_ARE_SLOW(TimeoutRules.class, "3.1", "OPERATION took", call -> {
        if (call.is(BackendSession.class, "exchange")) {
            Ghosts.linger(Duration.ofMillis(600));
        }
        return call.proceed();
    }),

    /** Validity counts from the answer and with a margin to the wrong side: hashicorp/consul #9788. */
    VALIDITY_IS_OPTIMISTIC(VerificationRules.class, "5.4", "validity is over-estimated", call -> {
        Object right = call.proceed();
        if (right instanceof ExchangeResult result && !result.answers().isEmpty()) {
            return result.toBuilder()
                    .validUntil(Deadline.after(System.nanoTime(), Duration.ofSeconds(3)))
                    .build();
        }
        return right;
    }),

    /** Nobody told that a lease can end: docker/libkv #102. */
    VALIDITY_IS_ENDLESS(VerificationRules.class, "5.4", "is valid without end", call -> {
        Object right = call.proceed();
        if (right instanceof ExchangeResult result) {
            return result.toBuilder().validUntil(Deadline.NEVER).build();
        }
        return right;
    }),

    /** The adapter answers from what it remembers: wolph/portalocker #137. */
    CHECK_ASKS_NOBODY(
            VerificationRules.class,
            "5.3",
            "the old holder's permit while another holds the slot",
            call -> call.is(BackendSession.class, "check") ? HoldState.HELD : call.proceed()),

    /** Losses are found and not passed on: curator #1112. */
    LOSSES_ARE_NOT_PASSED_ON(LossRules.class, "6.3", "reported as lost", call -> {
        Object right = call.proceed();
        if (right instanceof Renewal renewal) {
            return new Renewal(renewal.validUntil(), Set.of(), renewal.retired());
        }
        return right;
    }),

    /** A slot that is given back is called lost now and then. */
    RETURNED_IS_CALLED_LOST(ContentionRules.class, "1.2", "was lost without a fault", call -> {
        Object right = call.proceed();
        if (right instanceof ExchangeResult result
                && ThreadLocalRandom.current().nextInt(20) == 0) {
            return ExchangeResult.of(result.answers())
                    .lost(Set.copyOf(call.argument(0, ExchangeRequest.class).giveBack()))
                    .validUntil(result.validUntil())
                    .build();
        }
        return right;
    });

    private static final AtomicLong LAST_HINT = new AtomicLong();

    private static void once(Runnable hint) {
        long now = System.nanoTime();
        if (now - LAST_HINT.getAndSet(now) > Duration.ofMillis(200).toNanos()) {
            hint.run();
        }
    }

    private final Recipe recipe;

    SpiMutant(Class<?> section, String rule, String message, Bend bend) {
        this(section, rule, message, Duration.ofSeconds(1), bend);
    }

    SpiMutant(Class<?> section, String rule, String message, Duration lease, Bend bend) {
        recipe = new Recipe(section, rule, message, Variants.spi(lease, bend));
    }

    @Override
    public Recipe recipe() {
        return recipe;
    }
}
