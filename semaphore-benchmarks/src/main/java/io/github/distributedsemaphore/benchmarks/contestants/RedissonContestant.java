package io.github.distributedsemaphore.benchmarks.contestants;

import io.github.distributedsemaphore.benchmarks.cells.Variant;
import java.util.List;
import java.util.stream.IntStream;
import org.redisson.Redisson;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's counter. One client for all threads of a process: it keeps a pool of connections. */
final class RedissonContestant implements Contestant {
    private final RedissonClient client;
    private final List<RSemaphore> semaphores;
    private final List<Pass> passes;

    RedissonContestant(Variant variant, String uri) {
        client = connect(uri);
        semaphores = IntStream.range(0, variant.names())
                .mapToObj(name -> client.getSemaphore(variant.semaphore(name)))
                .toList();
        semaphores.forEach(semaphore -> semaphore.trySetPermits(variant.limit()));
        passes = semaphores.stream()
                .map(semaphore -> Pass.withoutSlot(semaphore::release))
                .toList();
    }

    static RedissonClient connect(String uri) {
        Config config = new Config();
        config.useSingleServer().setAddress(uri);
        return Redisson.create(config);
    }

    @Override
    public Pass acquire(int thread, int name) throws InterruptedException {
        semaphores.get(name).acquire();
        return passes.get(name);
    }

    @Override
    public void close() {
        client.shutdown();
    }
}
