package io.github.distributedsemaphore.benchmarks.run;

import io.github.distributedsemaphore.benchmarks.contestants.Contestant;
import io.github.distributedsemaphore.benchmarks.contestants.Pass;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/** A worker in which everybody is let in, two at a time. */
public final class PlantedWorker {
    private PlantedWorker() {}

    public static void main(String[] args) {
        new WorkerCommand((variant, uri) -> new OpenDoor()).run();
    }

    static final class OpenDoor implements Contestant {
        private final CyclicBarrier pair = new CyclicBarrier(2);
        private final AtomicLong epochs = new AtomicLong();

        @Override
        public Pass acquire(int thread, int name) throws InterruptedException {
            try {
                pair.await(100, TimeUnit.MILLISECONDS);
            } catch (BrokenBarrierException | TimeoutException e) {
                // The round is over for the other one.
                pair.reset();
            }
            return new Pass(1, epochs.incrementAndGet(), () -> {});
        }

        @Override
        public void close() {}
    }
}
