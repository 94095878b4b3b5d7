package io.github.distributedsemaphore.internal;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A lock under which wake-ups can be ordered that happen when it is free again. A thread that is woken under the lock runs
 * straight into it, and the waker keeps all others out for as long as it takes to wake one.
 */
class CoordinatorLock extends ReentrantLock {
    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(CoordinatorLock.class);

    /** Guarded by this lock. */
    private transient List<Runnable> wakeUps = new ArrayList<>();

    /** Guarded by this lock. */
    private transient List<Runnable> news = new ArrayList<>();

    /** Under the lock: runs it as soon as the lock is free, on this thread. */
    void wakeAfterwards(Runnable wakeUp) {
        assert isHeldByCurrentThread() : "a wake-up ordered without the lock could come late or never";
        wakeUps.add(wakeUp);
    }

    /** Under the lock: the same, after all wake-ups. No thread that got a permit waits for a listener. */
    void tellAfterwards(Runnable one) {
        assert isHeldByCurrentThread() : "news without the lock could come in the wrong order";
        news.add(one);
    }

    @Override
    public void unlock() {
        if (getHoldCount() != 1 || (wakeUps.isEmpty() && news.isEmpty())) {
            super.unlock();
            return;
        }
        List<Runnable> due = wakeUps.isEmpty() ? List.of() : wakeUps;
        if (!due.isEmpty()) {
            wakeUps = new ArrayList<>();
        }
        List<Runnable> told = news.isEmpty() ? List.of() : news;
        if (!told.isEmpty()) {
            news = new ArrayList<>();
        }
        super.unlock();
        due.forEach(CoordinatorLock::quietly);
        told.forEach(CoordinatorLock::quietly);
    }

    /** One that fails, for want of a thread perhaps, keeps no other from being woken. */
    private static void quietly(Runnable wakeUp) {
        try {
            wakeUp.run();
        } catch (RuntimeException | Error e) {
            LOG.error("A wake-up of the semaphore client failed", e);
        }
    }
}
