package io.github.distributedsemaphore.benchmarks.contestants;

import io.github.distributedsemaphore.benchmarks.cells.Variant;

/** One way to take permits, in one process. Thread-safe, but each thread number is one thread's. */
public interface Contestant extends AutoCloseable {
    /** Waits for a permit of one of the variant's semaphores. */
    Pass acquire(int thread, int name) throws InterruptedException;

    @Override
    void close();

    /** Opens one, and makes its semaphores if nobody has yet. */
    static Contestant open(Variant variant, String uri) {
        return switch (variant.mode()) {
            case SEMAPHORE -> new SemaphoreContestant(variant, uri);
            case HANDING_OVER -> new SemaphoreContestant(variant, uri + "?handOver=true");
            case REDISSON -> new RedissonContestant(variant, uri);
            case REDISSON_EXPIRABLE -> new ExpirableContestant(variant, uri);
            case FLOOR -> new FloorContestant(variant, uri);
            case STREAM -> new StreamContestant(variant, uri);
            case GUIDE -> new GuideContestant(variant, uri);
            case COMMITS -> new CommitsContestant(variant, uri);
            case TRANSACTIONS -> new TransactionsContestant(variant, uri);
            case SPECIFICATION -> new SpecificationContestant(variant, uri);
            case ONE_FREE -> OneFreeContestant.ofSemaphore(variant, uri);
            case ONE_FREE_SPECIFICATION -> OneFreeContestant.ofSpecification(variant, uri);
            case REFUSED -> new RefusedContestant(variant, uri);
            case DECLARE_AND_CONFIRM -> new RequestsContestant(variant, uri, true);
            case UPDATES -> new PostgresContestant.Updates(variant, uri);
            case ADVISORY_LOCKS -> new PostgresContestant.AdvisoryLocks(variant, uri);
            case ROUND_TRIP -> new RequestsContestant(variant, uri, false);
        };
    }
}
