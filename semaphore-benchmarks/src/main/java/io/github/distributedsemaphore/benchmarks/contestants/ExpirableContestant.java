package io.github.distributedsemaphore.benchmarks.contestants;

import io.github.distributedsemaphore.benchmarks.cells.Variant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;

/** Redisson's semaphore whose permits come back after a lease; nothing renews them. */
final class ExpirableContestant implements Contestant {
    private static final long LEASE_SECONDS = 30;

    private final RedissonClient client;
    private final List<RPermitExpirableSemaphore> semaphores;

    ExpirableContestant(Variant variant, String uri) {
        client = RedissonContestant.connect(uri);
        semaphores = IntStream.range(0, variant.names())
                .mapToObj(name -> client.getPermitExpirableSemaphore(variant.semaphore(name)))
                .toList();
        semaphores.forEach(semaphore -> semaphore.trySetPermits(variant.limit()));
    }

    @Override
    public Pass acquire(int thread, int name) throws InterruptedException {
        RPermitExpirableSemaphore semaphore = semaphores.get(name);
        String id = semaphore.acquire(LEASE_SECONDS, TimeUnit.SECONDS);
        return Pass.withoutSlot(() -> semaphore.release(id));
    }

    @Override
    public void close() {
        client.shutdown();
    }
}
