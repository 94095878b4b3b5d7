package io.github.distributedsemaphore.tck.run;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.Verification;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A client that does next to nothing for the whole run: it holds a permit that nobody touches, and waits for another at the start
 * and at the end. What goes wrong after a minute of quiet, no test has the time to see.
 */
final class QuietHold {
    static final List<String> RULES = List.of("2.11", "2.1");

    private final TckRun run;
    private final SemaphoreClient client;
    private final SemaphoreClient others;
    private final String name;
    private final String waitedFor;
    private final Optional<Permit> permit;
    private final long since = System.nanoTime();

    QuietHold(TckRun run, SemaphoreClient client, SemaphoreClient others) {
        this.run = run;
        this.client = client;
        this.others = others;
        this.name = run.uniqueName("quiet");
        this.waitedFor = run.uniqueName("quiet");
        others.admin().create(name, 1);
        others.admin().create(waitedFor, 1);
        this.permit = client.semaphore(name).tryAcquire();
        Duration unused = waitOnce();
    }

    List<String> names() {
        return List.of(name, waitedFor);
    }

    /** Shows that the permit is held or that its loss was told, and that a release still reaches the client. */
    void end() {
        try {
            permit.ifPresent(this::judge);
            judge(waitOnce());
        } catch (BackendUnavailableException | OutcomeUnknownException e) {
            throw new AssertionError(what() + " cannot be judged: " + e.getMessage(), e);
        } finally {
            client.close();
            names().forEach(run.janitor()::destroy);
        }
    }

    private void judge(Permit held) {
        Optional<Permit> taken = others.semaphore(name).tryAcquire();
        boolean valid = held.isValid();
        Verification verification = held.verify();
        taken.ifPresent(Permit::close);
        if (taken.isPresent() && valid) {
            throw new AssertionError(what() + " says that it is valid, and another client was granted the slot");
        }
        boolean busy = Duration.ofNanos(run.timing().stoodStill(since, System.nanoTime()))
                        .compareTo(run.guarantees().detectionMin().dividedBy(2))
                > 0;
        if (verification != Verification.HELD && !busy) {
            throw new AssertionError(what() + " is " + verification + ", and nobody touched it");
        }
    }

    /** Returns how long after the release of another client the call was served that waited for it; much, if it was not. */
    private Duration waitOnce() {
        Optional<Permit> held = others.semaphore(waitedFor).tryAcquire();
        DistributedSemaphore semaphore = client.semaphore(waitedFor);
        CompletableFuture<Permit> waiter = semaphore.acquireAsync(run.timing().patience());
        Pause.millis(run.timing().quiet().toMillis());
        long released = System.nanoTime();
        held.ifPresent(Permit::close);
        try {
            waiter.join().close();
        } catch (RuntimeException e) {
            return run.timing().patience();
        }
        long served = System.nanoTime();
        return Duration.ofNanos(served - released - run.timing().stoodStill(released, served));
    }

    private void judge(Duration waited) {
        Duration bound = run.settings().scaled(run.guarantees().wakeUpBound());
        if (waited.compareTo(bound) > 0) {
            throw new AssertionError("[2.1] a release reached a client that had asked for nothing for "
                    + Duration.ofNanos(System.nanoTime() - since).toSeconds() + " s after " + waited + ", declared are "
                    + bound);
        }
    }

    private String what() {
        return "[2.11] a permit that was taken "
                + Duration.ofNanos(System.nanoTime() - since).toSeconds()
                + " s ago, by a client that asked for nothing else,";
    }
}
