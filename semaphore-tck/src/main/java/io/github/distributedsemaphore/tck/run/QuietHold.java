package io.github.distributedsemaphore.tck.run;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitLoss;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.Verification;
import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.tck.agent.Heartbeat;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Three clients that do next to nothing for the whole run. One holds a permit that nobody touches, and waits for another at the start
 * and at the end. The second one waits all the time. The third one holds a permit of a semaphore that was destroyed. What goes
 * wrong after a minute of quiet, no test has the time to see.
 */
final class QuietHold {
    static final List<String> RULES = List.of("2.11", "2.1", "2.12", "8.13");

    /** On a busy machine, permits are lost whose holders are taken for dead sooner. */
    private static final Duration LONG_DETECTION = Duration.ofSeconds(10);

    private static final Duration PULSE = Duration.ofMillis(200);

    private static final ClientSpec HINTED = ClientSpec.plain().with("recheck", "1m");

    private final TckRun run;
    private final SemaphoreClient client;
    private final SemaphoreClient patient;
    private final SemaphoreClient others;
    private final String name;
    private final String waitedFor;
    private final String waitedForAllTheTime;
    private final String destroyed;
    private final Held permit;
    private final Held heldAllTheTime;
    private final SemaphoreClient surviving;
    private final Held survivor;
    private final CompletableFuture<Permit> waiter;
    /** Feels whether the backend answers anybody. */
    private final Heartbeat pulse;

    private final long since = System.nanoTime();

    QuietHold(TckRun run, SemaphoreClient others) {
        this.run = run;
        this.client = run.harness().connect(HINTED);
        this.patient = run.harness().connect(HINTED);
        this.others = others;
        this.pulse = new Heartbeat(PULSE, this::ping);
        this.name = run.uniqueName("quiet");
        this.waitedFor = run.uniqueName("quiet");
        run.janitor().create(name, 1);
        run.janitor().create(waitedFor, 1);
        this.waitedForAllTheTime = run.uniqueName("quiet");
        run.janitor().create(waitedForAllTheTime, 1);
        this.heldAllTheTime = new Held(others.semaphore(waitedForAllTheTime), Verification.HELD);
        this.waiter = patient.semaphore(waitedForAllTheTime).acquireAsync();
        this.permit = new Held(client.semaphore(name), Verification.HELD);
        this.destroyed = run.uniqueName("quiet");
        this.surviving = unhurried();
        this.survivor = survive();
        Duration unused = waitOnce();
    }

    private void ping() {
        Duration detection = run.guarantees().detectionMax();
        if (run.guarantees().has(Capability.LEASE) && detection.compareTo(LONG_DETECTION) < 0) {
            try {
                others.ping(detection);
            } catch (SemaphoreClosedException e) {
                pulse.close();
            } catch (RuntimeException e) {
                // It took as long as it took. The rules judge the adapter.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** A client whose holds take long to be noticed as dead, where that can be had: what is kept for them ends later too. */
    private SemaphoreClient unhurried() {
        try {
            return run.harness().connect(ClientSpec.plain().with("detection", "10s"));
        } catch (IllegalArgumentException e) {
            return run.harness().connect(ClientSpec.plain());
        }
    }

    /** Destroys a semaphore of two holders, of which one dies. */
    private Held survive() {
        run.janitor().create(destroyed, 2);
        Held one = new Held(surviving.semaphore(destroyed), Verification.RETIRED);
        SemaphoreClient dying = run.harness().connect(ClientSpec.plain());
        Held unused = new Held(dying.semaphore(destroyed), Verification.RETIRED);
        run.janitor().destroy(destroyed);
        dying.abort();
        return one;
    }

    /** A permit that nobody touches, and how the machine stood when its loss was told. */
    private final class Held {
        private final Permit permit;
        private final Verification expected;
        private final Duration validity;
        private volatile boolean excused;
        private volatile String then = "";

        Held(DistributedSemaphore semaphore, Verification expected) {
            this.expected = expected;
            permit = taken(semaphore);
            validity = TckTiming.validity(permit.validUntil());
            permit.onLost(this::lost);
        }

        /** A first connection may take longer than one attempt while the machine is busy. */
        private Permit taken(DistributedSemaphore semaphore) {
            try {
                return semaphore
                        .tryAcquire(run.timing().patience())
                        .orElseThrow(() -> new AssertionError(
                                "[2.11] '" + semaphore.name() + "' refused a permit that must be free"));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError("interrupted", e);
            }
        }

        private void lost(PermitLoss loss) {
            excused = stoodStill();
            Duration before = run.guarantees().detectionMax();
            long now = System.nanoTime();
            then = " (" + loss.cause() + ": " + loss.reason() + "); in the " + before
                    + " before the news of its loss the machine stood still for "
                    + Duration.ofNanos(run.timing().stoodStill(now - before.toNanos(), now));
        }

        /**
         * Whether the machine, or the server, has just stood still for so long that this is lost. An earlier pause explains no loss. A
         * renewal takes several threads of two processes. On a busy machine it may be late although a thread that only sleeps is not. An
         * adapter that answers nobody is excused here, and fails elsewhere. A run has many bad moments, so more is excused than in a
         * test of some seconds: half of the validity in many short pauses is too much.
         */
        private boolean stoodStill() {
            long now = System.nanoTime();
            long before = now - run.guarantees().detectionMax().toNanos();
            Duration most = validity.multipliedBy(3).dividedBy(4);
            return run.timing().mayLose(most, before, now)
                    || new TckTiming(run.settings(), pulse).mayLose(most, before, now);
        }

        /** Returns whether it is as it should be; throws if it is lost for no reason. */
        boolean isHeld() {
            Verification verification = permit.verify();
            if (verification != expected && !stoodStill() && !excused) {
                throw new AssertionError(what() + " is " + verification + ", and nobody touched it" + then);
            }
            return verification == expected;
        }

        private String what() {
            String age = " a permit that was taken "
                    + Duration.ofNanos(System.nanoTime() - since).toSeconds() + " s ago";
            return expected == Verification.HELD
                    ? "[2.11]" + age
                    : "[8.13]" + age + ", of a semaphore that was destroyed and whose other holder died,";
        }
    }

    List<String> names() {
        return List.of(name, waitedFor, waitedForAllTheTime, destroyed);
    }

    /** Shows that the permit is held or that its loss was told, and that releases still reach both clients. */
    void end() {
        try {
            judge(permit);
            judge(waitOnce(), "[2.1] a release reached a client that had asked for nothing for ");
            boolean unused = survivor.isHeld();
            if (heldAllTheTime.isHeld()) {
                judgeWaiter(heldAllTheTime.permit);
            }
        } catch (BackendUnavailableException | OutcomeUnknownException e) {
            throw new AssertionError(permit.what() + " cannot be judged: " + e.getMessage(), e);
        } finally {
            pulse.close();
            client.close();
            patient.close();
            surviving.close();
            heldAllTheTime.permit.close();
            names().forEach(run.janitor()::destroy);
        }
    }

    private void judge(Held held) {
        Optional<Permit> taken = others.semaphore(name).tryAcquire();
        try {
            if (taken.isPresent() && held.permit.isValid()) {
                throw new AssertionError(
                        held.what() + " says that it is valid, and another client was granted the slot");
            }
            boolean unused = held.isHeld();
        } finally {
            taken.ifPresent(Permit::close);
        }
    }

    /** Returns how long after the release of another client the call was served that waited for it; much, if it was not. */
    private Duration waitOnce() {
        Optional<Permit> held = others.semaphore(waitedFor).tryAcquire();
        DistributedSemaphore semaphore = client.semaphore(waitedFor);
        CompletableFuture<Permit> once = semaphore.acquireAsync(run.timing().patience());
        Pause.millis(run.timing().quiet().toMillis());
        return held.map(permit -> served(permit, once)).orElse(run.timing().patience());
    }

    private Duration served(Permit held, CompletableFuture<Permit> waiting) {
        long released = System.nanoTime();
        held.close();
        try {
            waiting.get(run.timing().patience().toMillis(), TimeUnit.MILLISECONDS)
                    .close();
        } catch (ExecutionException | TimeoutException e) {
            return run.timing().patience();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
        long served = System.nanoTime();
        return Duration.ofNanos(served - released - run.timing().stoodStill(released, served));
    }

    private void judgeWaiter(Permit held) {
        if (waiter.isDone()) {
            throw new AssertionError(
                    "[2.12] a call that had to wait for the whole run has ended although the permit is held: "
                            + waiter);
        }
        judge(served(held, waiter), "[2.12] a release reached a call that had waited for ");
    }

    private void judge(Duration waited, String what) {
        Duration bound = run.settings().scaled(run.guarantees().wakeUpBound());
        if (waited.compareTo(bound) > 0) {
            throw new AssertionError(what
                    + Duration.ofNanos(System.nanoTime() - since).toSeconds() + " s after " + waited + ", declared are "
                    + bound);
        }
    }
}
