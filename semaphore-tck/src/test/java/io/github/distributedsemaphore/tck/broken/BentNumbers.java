package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.LossCause;
import io.github.distributedsemaphore.SemaphoreAdmin;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreListener;
import io.github.distributedsemaphore.SemaphoreStatistics;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.broken.Bent.Bend;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;

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
        return counting(
                right -> changed(right, right.waiting() + (int) right.timedOut(), right.lost(), right.renewals()));
    }

    static Bend lossesNotCounted(ProbedServer server) {
        return counting(right -> changed(right, right.waiting(), Map.of(), right.renewals()));
    }

    static Bend renewalsNotCounted(ProbedServer server) {
        return counting(right -> changed(right, right.waiting(), right.lost(), 0));
    }

    /** As if the hold that was lost were kept. */
    static Bend renewingForEver(ProbedServer server) {
        long begin = System.nanoTime();
        return counting(right -> {
            long more = right.lost().isEmpty() ? 0 : (System.nanoTime() - begin) / 100_000_000;
            return changed(right, right.waiting(), right.lost(), right.renewals() + more);
        });
    }

    private static Bend counting(UnaryOperator<SemaphoreStatistics> change) {
        return call -> {
            Object result = call.proceed();
            return result instanceof SemaphoreStatistics right ? change.apply(right) : result;
        };
    }

    private static SemaphoreStatistics changed(
            SemaphoreStatistics right, int waiting, Map<LossCause, Long> lost, long renewals) {
        return new SemaphoreStatistics(
                right.held(),
                waiting,
                right.grantedByBackend(),
                right.grantedByHandOff(),
                right.refused(),
                right.timedOut(),
                right.withdrawn(),
                right.failed(),
                right.released(),
                lost,
                right.exchanges(),
                right.failedExchanges(),
                renewals,
                right.failedRenewals(),
                right.validUntil());
    }

    /** An instant is reported where a duration is asked for. */
    static Bend heldSinceEver(ProbedServer server) {
        Map<Object, SemaphoreListener> bent = new ConcurrentHashMap<>();
        return call -> call.is(SemaphoreClient.class, "addListener", "removeListener")
                ? call.proceedWith(bent.computeIfAbsent(
                        call.argument(0, SemaphoreListener.class), key -> sinceEver((SemaphoreListener) key)))
                : call.proceed();
    }

    private static SemaphoreListener sinceEver(SemaphoreListener told) {
        return new SemaphoreListener() {
            @Override
            public void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {
                told.onAcquired(semaphoreName, slot, waitedNanos, handedOff);
            }

            @Override
            public void onTimedOut(String semaphoreName, long waitedNanos) {
                told.onTimedOut(semaphoreName, waitedNanos);
            }

            @Override
            public void onReleased(String semaphoreName, int slot, long heldNanos) {
                told.onReleased(
                        semaphoreName,
                        slot,
                        Math.abs(System.nanoTime()) + Duration.ofDays(1).toNanos());
            }
        };
    }
}
