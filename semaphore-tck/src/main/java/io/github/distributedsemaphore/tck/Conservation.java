package io.github.distributedsemaphore.tck;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Shows that exactly as many permits can be acquired as there must be: none lost, none invented. */
final class Conservation {
    private Conservation() {}

    static void assertFree(DistributedSemaphore semaphore, int count, Duration patience) {
        List<Permit> taken = new ArrayList<>();
        try {
            long start = System.nanoTime();
            while (taken.size() <= count) {
                Optional<Permit> permit = semaphore.tryAcquire();
                if (permit.isPresent()) {
                    taken.add(permit.get());
                } else if (taken.size() == count) {
                    return;
                } else if (System.nanoTime() - start > patience.toNanos()) {
                    throw new AssertionError("lost permits: only " + taken.size() + " of " + count + " can be had of '"
                            + semaphore.name() + "' within " + patience);
                } else {
                    Pause.millis(5);
                }
            }
            throw new AssertionError("surplus permits: " + taken.size() + " can be had of '" + semaphore.name()
                    + "' where " + count + " must be free");
        } finally {
            taken.forEach(Permit::close);
        }
    }
}
