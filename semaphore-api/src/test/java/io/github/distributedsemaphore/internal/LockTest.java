package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreListener;
import io.github.distributedsemaphore.memory.MemoryBackend;
import io.github.distributedsemaphore.memory.MemoryServer;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** How often the lock is taken when nobody else wants anything, and what an error under it leaves. */
class LockTest {
    private final SteppedEnvironment environment = new SteppedEnvironment();
    private final MemoryServer server =
            new MemoryServer(environment::nanoTime, Duration.ofSeconds(9), MemoryServer.ALL, environment::execute);
    private final Counted lock = new Counted();
    private final Ledger.Listeners listeners = new Ledger.Listeners();

    private static final class Counted extends Combiner.Lock {
        private static final long serialVersionUID = 1L;
        private int taken;
        private boolean noMemoryForUnlock;
        private boolean noMemoryForNews;

        @Override
        public void lock() {
            super.lock();
            taken++;
        }

        /** Is asked by an unlock before anything else. */
        @Override
        public int getHoldCount() {
            if (noMemoryForUnlock) {
                noMemoryForUnlock = false;
                throw new OutOfMemoryError("as a test wants it");
            }
            return super.getHoldCount();
        }

        @Override
        void tellAfterwards(Runnable one) {
            if (noMemoryForNews) {
                noMemoryForNews = false;
                throw new OutOfMemoryError("as a test wants it");
            }
            super.tellAfterwards(one);
        }

        void during(Runnable action) {
            lock();
            try {
                action.run();
            } finally {
                unlock();
            }
        }

        int taken() {
            int counted = taken;
            taken = 0;
            return counted;
        }
    }

    private Coordinator coordinator(@Nullable Executor network) {
        MemoryBackend backend = new MemoryBackend(server, new HolderInfo("host", 1, "")) {
            @Override
            protected @Nullable Executor network() {
                return network;
            }
        };
        backend.admin().create("counted", 1);
        Coordinator coordinator = new Coordinator(
                "counted",
                backend,
                ClientSettings.from(BackendUri.parse("memory:"), backend),
                environment,
                new Outage.Retries(environment),
                listeners,
                lock);
        // Opens the session, and starts the renewals.
        coordinator.releaseQuietly(coordinator.acquisition().attempt(1));
        lock.taken();
        return coordinator;
    }

    @Test
    void anAttemptTakesTheLockTwiceAndSoDoesARelease() {
        Coordinator coordinator = coordinator(null);
        List<HeldPermit> permits = coordinator.acquisition().attempt(1);
        assertThat(lock.taken()).isEqualTo(2);
        coordinator.releaseQuietly(permits);
        assertThat(lock.taken()).isEqualTo(2);
    }

    @Test
    void anAcquireThatDoesNotWaitInTheBackendTakesItThreeTimes() throws InterruptedException {
        Coordinator coordinator = coordinator(environment::execute);
        List<HeldPermit> permits = coordinator.acquisition().await(1, Deadline.NEVER);
        assertThat(lock.taken()).isEqualTo(3);
        assertThat(permits).hasSize(1);
    }

    @Test
    void anAcquireThatAWorkerDoesTakesItTwice() throws InterruptedException {
        Coordinator coordinator = coordinator(null);
        List<HeldPermit> permits = coordinator.acquisition().await(1, Deadline.NEVER);
        assertThat(lock.taken()).isEqualTo(2);
        assertThat(permits).hasSize(1);
    }

    @Test
    void anErrorInItsUnlockLeavesItFreeAndLosesNoWakeUp() {
        AtomicInteger woken = new AtomicInteger();
        assertThatThrownBy(() -> lock.during(() -> {
                    lock.wakeAfterwards(woken::incrementAndGet);
                    lock.noMemoryForUnlock = true;
                }))
                .isInstanceOf(OutOfMemoryError.class);
        assertThat(lock.isLocked()).isFalse();
        lock.during(() -> {});
        assertThat(woken).hasValue(1);
    }

    @Test
    void aSlotWhoseReleaseEndsInAnErrorGoesBack() {
        listeners.add(new SemaphoreListener() {});
        Coordinator coordinator = coordinator(null);
        List<HeldPermit> permits = coordinator.acquisition().attempt(1);
        lock.noMemoryForNews = true;
        assertThatThrownBy(() -> coordinator.releaseQuietly(permits)).isInstanceOf(OutOfMemoryError.class);
        environment.settle();
        SemaphoreBackend other = new MemoryBackend(server, new HolderInfo("host", 2, ""));
        assertThat(other.admin().describe("counted").orElseThrow().free()).isEqualTo(1);
    }
}
