package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.broken.Bent.Bend;
import java.util.Optional;

/** Wrong ways to treat numbers. */
final class BentNumbers {
    private BentNumbers() {}

    static Bend mendedNames(ProbedServer server) {
        return call -> {
            try {
                return call.proceed();
            } catch (IllegalArgumentException e) {
                if (call.is(SemaphoreClient.class, "semaphore")) {
                    return call.proceedWith("default");
                }
                throw e;
            }
        };
    }

    static Bend refusedAsFull(ProbedServer server) {
        return call -> {
            try {
                return call.proceed();
            } catch (IllegalArgumentException e) {
                if (call.is(DistributedSemaphore.class, "tryAcquire")) {
                    return Optional.empty();
                }
                throw e;
            }
        };
    }

    static Bend mendedLimits(ProbedServer server) {
        return call -> call.is(SemaphoreAdmin.class, "create", "resize") && call.argument(1, Integer.class) < 1
                ? call.proceedWith(call.argumentsWith(1, 1))
                : call.proceed();
    }

    static Bend leftWaiters(ProbedServer server) {
        return call -> {
            Object result = call.proceed();
            return result instanceof SemaphoreStatistics right
                    ? new SemaphoreStatistics(
                            right.held(),
                            right.waiting() + (int) right.timedOut(),
                            right.grantedByBackend(),
                            right.grantedByHandOff(),
                            right.refused(),
                            right.timedOut(),
                            right.withdrawn(),
                            right.failed(),
                            right.released(),
                            right.lost(),
                            right.exchanges(),
                            right.failedExchanges(),
                            right.renewals(),
                            right.failedRenewals(),
                            right.validUntil())
                    : result;
        };
    }
}
