package io.github.distributedsemaphore.spring.boot;

import java.util.concurrent.atomic.AtomicBoolean;
import org.springframework.context.SmartLifecycle;

/**
 * One step of the shutdown. Spring stops higher phases first: its web server at {@link SmartLifecycle#DEFAULT_PHASE} less 1024, its executors and
 * schedulers at half of that.
 */
final class SemaphoreLifecycle implements SmartLifecycle {
    /** Before the web server waits for its requests, so that none of them spends that time in a queue for a permit. */
    static final int STOP_ACQUIRING = DEFAULT_PHASE;
    /** After the executors have waited for their tasks, which may hold permits. */
    static final int CLOSE = DEFAULT_PHASE / 2 - 1024;

    private final int phase;
    private final Runnable step;
    private final AtomicBoolean running = new AtomicBoolean();

    SemaphoreLifecycle(int phase, Runnable step) {
        this.phase = phase;
        this.step = step;
    }

    @Override
    public void start() {
        running.set(true);
    }

    @Override
    public void stop() {
        if (running.compareAndSet(true, false)) {
            step.run();
        }
    }

    @Override
    public boolean isRunning() {
        return running.get();
    }

    @Override
    public int getPhase() {
        return phase;
    }

    /** Spring Framework 7 stops and starts the contexts that a test keeps; a client that is closed stays closed. */
    public boolean isPauseable() {
        return false;
    }
}
