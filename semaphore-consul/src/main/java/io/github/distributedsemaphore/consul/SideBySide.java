package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.util.Collection;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Does the same to many things over several connections at once, since Consul knows no request that renews or makes more than one
 * session. The calling thread does its part too, so that nothing depends on the helpers: they may come late or not at all.
 * Thread-safe.
 */
final class SideBySide {
    /** Of the eight connections that a client has for everything but watches. */
    private static final int AT_ONCE = 6;

    private final Executor helpers;

    /**
     * Creates it.
     *
     * @param helpers runs a task on another thread, soon
     */
    SideBySide(Executor helpers) {
        this.helpers = helpers;
    }

    /**
     * Does something to each, in about their order, and returns when all is done. After a failure what was not begun is left out.
     *
     * @param action what to do; on any thread
     * @throws RuntimeException the first failure of the action
     */
    <T> void forEach(Collection<T> things, Consumer<T> action) {
        if (things.size() == 1) {
            things.forEach(action);
            return;
        }
        Work<T> work = new Work<>(things, action);
        int more = Math.min(AT_ONCE, things.size()) - 1;
        for (int i = 0; i < more; i++) {
            try {
                helpers.execute(work);
            } catch (RuntimeException | Error e) {
                // There is no thread for it: then those that run do it all.
                break;
            }
        }
        work.run();
        work.await();
    }

    private static final class Work<T> implements Runnable {
        private final Queue<T> left;
        private final CountDownLatch undone;
        private final Consumer<T> action;
        private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

        Work(Collection<T> things, Consumer<T> action) {
            this.left = new ConcurrentLinkedQueue<>(things);
            this.undone = new CountDownLatch(things.size());
            this.action = action;
        }

        @Override
        public void run() {
            for (T next = left.poll(); next != null; next = left.poll()) {
                try {
                    if (failure.get() == null) {
                        action.accept(next);
                    }
                } catch (RuntimeException | Error e) {
                    failure.compareAndSet(null, e);
                } finally {
                    undone.countDown();
                }
            }
        }

        void await() {
            try (InterruptShield shield = new InterruptShield()) {
                while (undone.getCount() > 0) {
                    try {
                        undone.await();
                    } catch (InterruptedException e) {
                        shield.absorb(e);
                    }
                }
            }
            Throwable thrown = failure.get();
            if (thrown instanceof RuntimeException exception) {
                throw exception;
            }
            if (thrown instanceof Error error) {
                throw error;
            }
        }
    }
}
