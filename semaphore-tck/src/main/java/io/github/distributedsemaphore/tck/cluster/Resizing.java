package io.github.distributedsemaphore.tck.cluster;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.tck.agent.Agent;
import io.github.distributedsemaphore.tck.agent.AgentException;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.history.Operation.Outcome;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * A client that changes the limit of a semaphore again and again, from half of what it was to half as much again, and records each
 * change.
 */
final class Resizing {
    /** The judgement looks at all changes for each grant. */
    private static final int GAP_MILLIS = 1_000;

    private final Agent agent;
    private final String semaphore;
    private final int limit;
    private final HistoryRecorder recorder;
    private final Random random;
    private final Thread thread = new Thread(this::goOn, "tck-resizing");
    private volatile boolean ended;

    /**
     * Begins.
     *
     * @param agent the client
     * @param semaphore its name
     * @param limit its limit, which it has again in the end
     * @param recorder takes what is done
     * @param seed of the limits
     */
    Resizing(Agent agent, String semaphore, int limit, HistoryRecorder recorder, long seed) {
        this.agent = agent;
        this.semaphore = semaphore;
        this.limit = limit;
        this.recorder = recorder;
        this.random = new Random(seed);
        thread.start();
    }

    private void goOn() {
        try {
            while (!ended) {
                boolean unused = resize(limit / 2 + random.nextInt(limit + 1));
                TimeUnit.MILLISECONDS.sleep(random.nextInt(GAP_MILLIS));
            }
        } catch (InterruptedException e) {
            // Nobody interrupts this thread.
        }
    }

    /** Whether the limit is this one now, for certain. */
    private boolean resize(int wanted) {
        long invoked = System.nanoTime();
        Outcome outcome = Outcome.OK;
        try {
            agent.resize(semaphore, wanted);
        } catch (AgentException e) {
            if (e.was(BackendUnavailableException.class)) {
                return false;
            }
            if (!e.was(OutcomeUnknownException.class)) {
                throw e;
            }
            outcome = Outcome.UNKNOWN;
        }
        recorder.resized(wanted, invoked, outcome);
        return outcome == Outcome.OK;
    }

    /** Ends, and gives the semaphore the limit that it had. */
    void end() {
        ended = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
        ClusterWaits.await("the limit is what it was", () -> resize(limit));
    }
}
