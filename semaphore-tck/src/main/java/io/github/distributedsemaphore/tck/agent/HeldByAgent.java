package io.github.distributedsemaphore.tck.agent;

import com.google.gson.JsonObject;
import io.github.distributedsemaphore.Permit;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/** Permits that an agent holds, and a thread that looks all the time whether they say that they are valid. */
final class HeldByAgent {
    private static final long LOOK_EVERY = 200_000;

    private final List<Permit> permits;
    private final ConcurrentLinkedQueue<Long> losses = new ConcurrentLinkedQueue<>();
    private volatile long lastValid = Long.MIN_VALUE;
    private volatile boolean released;

    HeldByAgent(List<Permit> permits) {
        this.permits = permits;
        permits.forEach(permit -> permit.onLost(loss -> losses.add(System.nanoTime())));
        Thread watch = new Thread(this::watch, "tck-validity");
        watch.setDaemon(true);
        watch.start();
    }

    /** Only the instant before the question is surely one at which a later answer of yes was not yet too late. */
    private void watch() {
        while (!released) {
            long before = System.nanoTime();
            if (permits.stream().allMatch(Permit::isValid)) {
                lastValid = before;
            }
            LockSupport.parkNanos(LOOK_EVERY);
        }
    }

    List<Permit> permits() {
        return permits;
    }

    void describe(JsonObject answer) {
        answer.addProperty("valid", permits.stream().allMatch(Permit::isValid));
        answer.addProperty("lastValid", lastValid);
        answer.add("losses", AgentJson.GSON.toJsonTree(losses));
    }

    void end() {
        released = true;
    }
}
