package io.github.distributedsemaphore.tck.watch;

import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.run.Pause;
import java.time.Duration;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Asks for slots that are held: from another process where there can be one, now and again and again until twice the detection
 * time is over. A lock that was dropped, an end that was set by mistake and a lease that nobody renews all show only so.
 */
public final class Outsider {
    /** A quick run does not wait for longer where detection takes long. */
    private static final Duration LATER_IN_QUICK = Duration.ofSeconds(10);

    private Outsider() {}

    /**
     * Shows that nobody gets a slot while its holder says that it holds it, and that the holder goes on to say so.
     *
     * @param held the only permit of its semaphore, by what happened to that
     * @param since when the first of them was taken: a machine that stood still since then may have lost it
     * @param mayBeLost after which of it the holder may lose its slot, if it says so
     */
    public static void assertRefused(TckFixture tck, Map<String, Permit> held, long since, Set<String> mayBeLost) {
        Predicate<String> granted = outsider(tck);
        Map<String, Permit> left = new LinkedHashMap<>(held);
        Duration validity = longestValidity(tck, held);
        long start = System.nanoTime();
        do {
            for (Map.Entry<String, Permit> one : Map.copyOf(left).entrySet()) {
                Permit permit = one.getValue();
                boolean taken = granted.test(permit.semaphoreName());
                boolean valid = permit.isValid();
                if (valid ? taken : !mayBeLost.contains(one.getKey())) {
                    if (!valid) {
                        tck.abortIfStoodStill(validity, since);
                    }
                    throw new AssertionError(Duration.ofNanos(System.nanoTime() - start) + " " + one.getKey() + " "
                            + (taken ? "another process got the slot" : "nobody else has the slot")
                            + (valid
                                    ? " while its holder, " + permit + ", says that it holds it"
                                    : " and its holder, " + permit + ", lost it")
                            + "; there are " + tck.home().admin().describe(permit.semaphoreName()));
                } else if (taken) {
                    left.remove(one.getKey());
                }
            }
            Pause.millis(50);
        } while (System.nanoTime() - start < later(tck).toNanos());
    }

    private static Duration longestValidity(TckFixture tck, Map<String, Permit> held) {
        return held.values().stream()
                .map(permit -> tck.validity(permit.validUntil()))
                .max(Comparator.naturalOrder())
                .orElse(Duration.ZERO);
    }

    private static Duration later(TckFixture tck) {
        Duration twice =
                tck.scaled(tck.guarantees().detectionMax()).multipliedBy(2).plus(tck.quiet());
        return tck.full() || twice.compareTo(LATER_IN_QUICK) < 0 ? twice : LATER_IN_QUICK;
    }

    /** Takes a slot that is free, and keeps it. */
    private static Predicate<String> outsider(TckFixture tck) {
        if (tck.harness().agents().isPresent()) {
            Agent agent = tck.agent();
            return name -> agent.tryAcquire(name).isPresent();
        }
        var client = tck.client();
        return name -> client.semaphore(name).tryAcquire().isPresent();
    }
}
