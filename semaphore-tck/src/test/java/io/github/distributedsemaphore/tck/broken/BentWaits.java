package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.broken.Bent.Bend;
import io.github.distributedsemaphore.tck.broken.Bent.Call;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/** Wrong ways to wait. */
final class BentWaits {
    private BentWaits() {}

    private static boolean waits(Call call) {
        return call.is(DistributedSemaphore.class, "acquire")
                || (call.is(DistributedSemaphore.class, "tryAcquire") && timeAt(call) >= 0);
    }

    private static int timeAt(Call call) {
        return call.parameterTypes().indexOf(Duration.class);
    }

    static Bend reentrant(ProbedServer server) {
        Map<Thread, Object> held = new ConcurrentHashMap<>();
        return call -> {
            if (call.is(DistributedSemaphore.class, "acquire") && call.has(Duration.class)) {
                Object known = held.get(Thread.currentThread());
                Object permit = known == null ? call.proceed() : known;
                if (permit != null) {
                    held.put(Thread.currentThread(), permit);
                }
                return permit;
            }
            return call.proceed();
        };
    }

    static Bend partial(ProbedServer server) {
        return call -> {
            Object result = call.proceed();
            boolean refused = call.is(DistributedSemaphore.class, "tryAcquire")
                    && Optional.empty().equals(result);
            return refused && call.has(int.class) ? call.proceedWith(1) : result;
        };
    }

    static Bend collecting(ProbedServer server) {
        return call -> {
            if (call.is(DistributedSemaphore.class, "acquire") && call.has(int.class, Duration.class)) {
                DistributedSemaphore semaphore = call.target(DistributedSemaphore.class);
                List<Permit> collected = new ArrayList<>();
                for (int i = 0; i < call.argument(0, Integer.class); i++) {
                    collected.add(semaphore.acquire(call.argument(1, Duration.class)));
                }
                collected.forEach(Permit::close);
            }
            return call.proceed();
        };
    }

    static Bend hauntedByInterrupts(ProbedServer server) {
        return call -> {
            try {
                return call.proceed();
            } catch (InterruptedException e) {
                Ghosts.haunt(call);
                throw e;
            }
        };
    }

    static Bend hauntedByTimeouts(ProbedServer server) {
        AtomicInteger ghosts = new AtomicInteger(50);
        return call -> {
            Object result = call.proceed();
            if (call.is(DistributedSemaphore.class, "tryAcquire")
                    && call.has(Duration.class)
                    && Optional.empty().equals(result)
                    && ghosts.getAndDecrement() > 0) {
                Ghosts.haunt(call);
            }
            return result;
        };
    }

    private static Bend timed(Predicate<Duration> which, UnaryOperator<Duration> wrong) {
        return call -> {
            int at = timeAt(call);
            if (!waits(call) || at < 0 || !which.test(call.argument(at, Duration.class))) {
                return call.proceed();
            }
            return call.proceedWith(call.argumentsWith(at, wrong.apply(call.argument(at, Duration.class))));
        };
    }

    static Bend shrinking(ProbedServer server) {
        return timed(time -> true, time -> time.dividedBy(2));
    }

    static Bend roundedUp(ProbedServer server) {
        return timed(time -> time.compareTo(Duration.ofMillis(1)) > 0, time -> time.plusMillis(300));
    }

    static Bend slowToLeave(ProbedServer server) {
        return call -> {
            try {
                return call.proceed();
            } catch (InterruptedException e) {
                Ghosts.pause(300);
                throw e;
            }
        };
    }

    static Bend overflowing(ProbedServer server) {
        return timed(time -> time.toDays() > 365_000, time -> Duration.ofNanos(-1));
    }

    static Bend tinyBecomesLong(ProbedServer server) {
        return timed(
                time -> !time.isNegative() && !time.isZero() && time.compareTo(Duration.ofMillis(1)) < 0,
                time -> Duration.ofMillis(700));
    }

    static Bend noAttempt(ProbedServer server) {
        return call -> {
            boolean none = call.is(DistributedSemaphore.class, "tryAcquire")
                    && call.has(Duration.class)
                    && call.argument(0, Duration.class).isZero();
            return none ? Optional.empty() : call.proceed();
        };
    }

    static Bend deaf(ProbedServer server) {
        return call -> {
            while (true) {
                try {
                    return call.proceed();
                } catch (InterruptedException e) {
                    // And on it goes, as if nothing had been.
                }
            }
        };
    }

    static Bend flagged(ProbedServer server) {
        return call -> {
            try {
                return call.proceed();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw e;
            }
        };
    }

    static Bend overlooking(ProbedServer server) {
        return call -> {
            boolean interrupted = waits(call) && Thread.interrupted();
            try {
                return call.proceed();
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        };
    }

    static Bend closingLate(ProbedServer server) {
        return call -> call.is(SemaphoreClient.class, "close") ? null : call.proceed();
    }

    static Bend closingByAbort(ProbedServer server) {
        return call -> {
            if (call.is(SemaphoreClient.class, "close")) {
                call.target(SemaphoreClient.class).abort();
                return null;
            }
            return call.proceed();
        };
    }

    static Bend polling(ProbedServer server) {
        return call -> call.is(DistributedSemaphore.class, "acquire") && call.has(Duration.class)
                ? Ghosts.poll(call.target(DistributedSemaphore.class))
                : call.proceed();
    }

    static Bend cutToTwoSeconds(ProbedServer server) {
        Duration most = Duration.ofSeconds(2);
        return timed(time -> time.compareTo(most) > 0, time -> most);
    }

    static Bend tryingWithoutTheFlag(ProbedServer server) {
        return call -> {
            if (call.is(DistributedSemaphore.class, "tryAcquire") && call.has()) {
                Thread.interrupted();
            }
            return call.proceed();
        };
    }

    static Bend refusingTheInterrupted(ProbedServer server) {
        return call -> {
            boolean interrupted = Thread.currentThread().isInterrupted();
            return interrupted && call.is(DistributedSemaphore.class, "tryAcquire") ? Optional.empty() : call.proceed();
        };
    }
}
