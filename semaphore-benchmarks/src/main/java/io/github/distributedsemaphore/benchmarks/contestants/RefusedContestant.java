package io.github.distributedsemaphore.benchmarks.contestants;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.Variant;
import java.util.List;
import java.util.stream.IntStream;

/** This library where another client holds all slots: each acquire is an attempt that is refused. */
final class RefusedContestant implements Contestant {
    private final SemaphoreClient holder;
    private final SemaphoreContestant refused;
    private final DistributedSemaphore semaphore;
    private final List<Permit> held;

    RefusedContestant(Variant variant, String uri) {
        refused = new SemaphoreContestant(variant, uri);
        semaphore = refused.client().semaphore(variant.semaphore(0));
        holder = SemaphoreClient.connect(uri);
        DistributedSemaphore theirs = holder.semaphore(variant.semaphore(0));
        held = IntStream.range(0, variant.limit())
                .mapToObj(i -> theirs.tryAcquire().orElseThrow())
                .toList();
    }

    @Override
    public Pass acquire(int thread, int name) {
        if (semaphore.tryAcquire().isPresent()) {
            throw new BrokenRunException("a permit was granted although all are held");
        }
        return Pass.withoutSlot(() -> {});
    }

    @Override
    public void close() {
        held.forEach(Permit::close);
        holder.close();
        refused.close();
    }
}
