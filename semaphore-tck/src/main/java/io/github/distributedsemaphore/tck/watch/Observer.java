package io.github.distributedsemaphore.tck.watch;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.tck.fixture.TckFixture;
import io.github.distributedsemaphore.tck.run.Pause;
import io.github.distributedsemaphore.tck.run.ThreadDump;
import java.time.Duration;
import java.util.Optional;

/** Looks at a semaphore past the disturbed link, and waits for what must become of it. */
public final class Observer {
    /** Within which a client that could not give something back tries again. */
    private static final Duration AGAIN = Duration.ofSeconds(3);

    private final TckFixture tck;
    private final DistributedSemaphore semaphore;

    public Observer(TckFixture tck, DistributedSemaphore semaphore) {
        this.tck = tck;
        this.semaphore = semaphore;
    }

    /** How long what a lost or a dead client took may stay taken. */
    public static Duration settling(TckFixture tck) {
        return tck.guarantees()
                .detectionMax()
                .plus(tck.guarantees().callBound())
                .plus(tck.quiet());
    }

    public void awaitFree(int count, String otherwise) {
        long start = System.nanoTime();
        for (int found = free(); found != count; found = free()) {
            if (tck.isOver(settling(tck), start)) {
                throw new AssertionError(otherwise + ": after " + tck.scaled(settling(tck)) + " there are " + found
                        + " free where it must be " + count + "; " + holders());
            }
            Pause.millis(2);
        }
    }

    /** For longer than a call and some repetitions must take, but shorter than a lease where that is longer. */
    public void awaitAtLeastFree(int count, String otherwise) {
        Duration bound = tck.scaled(AGAIN);
        long start = System.nanoTime();
        for (int found = free(); found < count; found = free()) {
            if (tck.isOver(AGAIN, start)) {
                throw new AssertionError(otherwise + ": after " + bound + " there are " + found
                        + " free where it must be " + count + "; " + holders());
            }
            Pause.millis(2);
        }
    }

    private String holders() {
        return String.valueOf(tck.home().admin().describe(semaphore.name()));
    }

    /** How many are free; none that anybody knows of while the backend does not answer. */
    private int free() {
        try {
            return semaphore.availablePermits();
        } catch (BackendUnavailableException | OutcomeUnknownException e) {
            return -1;
        }
    }

    /** Takes a slot as soon as it is free, which must be within the detection time and what calls take. */
    public Permit takeOver(String otherwise) throws InterruptedException {
        Duration bound = tck.scaled(settling(tck));
        long since = System.nanoTime();
        Optional<Permit> permit = semaphore.tryAcquire(bound.plus(tck.patience()));
        if (permit.isEmpty() || tck.isOver(bound, since)) {
            throw new AssertionError(otherwise + ": not within " + bound);
        }
        return permit.get();
    }

    /** Asks until the backend answers. */
    public static Verification verified(TckFixture tck, Permit permit) {
        long start = System.nanoTime();
        while (true) {
            try {
                return permit.verify();
            } catch (BackendUnavailableException | OutcomeUnknownException e) {
                if (tck.isOver(settling(tck), start)) {
                    throw new AssertionError("the backend is back and a permit cannot be verified: " + e, e);
                }
                Pause.millis(5);
            }
        }
    }

    /** Shows that the backend answers a client again, also if the semaphore is gone. */
    public static void assertAnswers(TckFixture tck, SemaphoreClient client, String name) {
        tck.await("the backend answers again", settling(tck), () -> {
            try {
                client.admin().describe(name);
                return true;
            } catch (BackendUnavailableException | OutcomeUnknownException e) {
                return false;
            }
        });
    }

    /** Shows that a client works again after a fault: it takes a permit that is free, and gives it back. */
    public static void assertWorks(TckFixture tck, DistributedSemaphore client) {
        long start = System.nanoTime();
        while (true) {
            try {
                Optional<Permit> permit = client.tryAcquire();
                if (permit.isPresent()) {
                    permit.get().release();
                    return;
                }
            } catch (BackendUnavailableException | OutcomeUnknownException e) {
                Pause.millis(5);
            }
            if (tck.isOver(settling(tck), start)) {
                throw new AssertionError(
                        "the same client does not work again after the fault, which has ended; " + ThreadDump.all());
            }
        }
    }
}
