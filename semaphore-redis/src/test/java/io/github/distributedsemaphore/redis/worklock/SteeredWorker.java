package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.redis.net.ServerSettings;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A worker in Java for which time passes when it is told so. It tells and is told the same lines as {@code
 * foreign_worker.py}: "locked", "waiting", "acquired true|false", "max-attempts", "end OUTCOME"; "tick" lets the lock
 * timeout pass, "done" records the end of the job, anything else leaves it.
 */
final class SteeredWorker implements WorkLockListener<InterruptedException>, RedisWorkLock.Pacing, Runnable {
    /** Longer than any test takes. */
    static final Duration LOCK_TIMEOUT = Duration.ofMinutes(10);

    static final Duration RETENTION = Duration.ofHours(1);

    private final RedisWorkLock lock;
    private final String key;
    private final Consumer<String> tells;
    private final BlockingQueue<String> words = new LinkedBlockingQueue<>();
    private final AtomicLong passed = new AtomicLong();
    private volatile @Nullable WorkAttempt attempt;

    SteeredWorker(ServerSettings servers, String key, int maxAttempts, Consumer<String> tells) {
        this.lock = new RedisWorkLock(
                servers, new WorkLockSettings(LOCK_TIMEOUT, maxAttempts, RETENTION, StatusLevel.VERBOSE), this);
        this.key = key;
        this.tells = tells;
    }

    /** Closes its connections. */
    void close() {
        lock.close();
    }

    void say(String word) {
        words.add(word);
    }

    /** Lets time pass that nobody waits for: this process was stopped. */
    void stoppedFor(Duration time) {
        passed.addAndGet(time.toNanos());
    }

    /** The attempt that it had last. */
    WorkAttempt attempt() {
        WorkAttempt last = attempt;
        if (last == null) {
            throw new AssertionError("it had no attempt");
        }
        return last;
    }

    @Override
    public void run() {
        try {
            tells.accept("end " + lock.run(key, this));
        } catch (InterruptedException e) {
            tells.accept("interrupted");
        } catch (RuntimeException e) {
            tells.accept("failed " + e.getClass().getSimpleName() + ": " + e.getMessage());
        }
    }

    @Override
    public void acquired(WorkAttempt attempt) throws InterruptedException {
        this.attempt = attempt;
        tells.accept("acquired " + attempt.lastAttempt());
        if (words.take().equals("done")) {
            attempt.done();
        }
    }

    @Override
    public void locked() {
        tells.accept("locked");
    }

    @Override
    public void maxAttempts() {
        tells.accept("max-attempts");
    }

    @Override
    public void error(SemaphoreException failure) {
        tells.accept("error " + failure.getClass().getSimpleName());
    }

    @Override
    public long nanoTime() {
        return System.nanoTime() + passed.get();
    }

    @Override
    public void pause(CountDownLatch end, long nanos) throws InterruptedException {
        tells.accept("waiting");
        if (words.take().equals("tick")) {
            passed.addAndGet(Math.max(0, nanos));
        }
    }
}
