package io.github.distributedsemaphore.tck.broken;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.tck.ProbedServer;
import io.github.distributedsemaphore.tck.broken.Bent.Bend;
import io.github.distributedsemaphore.tck.broken.Bent.Call;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/** Wrong queues of threads that wait, and wrong lists of what is in them. */
final class BentQueues {
    private static final int CONNECTIONS = 8;

    private BentQueues() {}

    private static boolean waits(Call call, Class<?>... types) {
        return call.is(DistributedSemaphore.class, "acquire") && call.has(types);
    }

    /** The threads that wait, in the order of their arrival. */
    private static class Line {
        final List<Thread> threads = new ArrayList<>();

        Thread next() {
            return threads.get(0);
        }

        void leave(Thread thread) {
            threads.remove(thread);
        }

        final Permit acquire(DistributedSemaphore semaphore, Duration wait) throws InterruptedException {
            Thread me = Thread.currentThread();
            synchronized (this) {
                threads.add(me);
            }
            try {
                return await(semaphore, wait);
            } catch (InterruptedException | SemaphoreTimeoutException e) {
                synchronized (this) {
                    leave(me);
                }
                throw e;
            }
        }

        private Permit await(DistributedSemaphore semaphore, Duration wait) throws InterruptedException {
            long start = System.nanoTime();
            while (System.nanoTime() - start < wait.toNanos()) {
                Optional<Permit> permit = ifNext(semaphore);
                if (permit.isPresent()) {
                    return permit.get();
                }
                Thread.sleep(1);
            }
            throw new SemaphoreTimeoutException("'" + semaphore.name() + "': no permit within " + wait);
        }

        private synchronized Optional<Permit> ifNext(DistributedSemaphore semaphore) {
            if (next() != Thread.currentThread()) {
                return Optional.empty();
            }
            Optional<Permit> permit = semaphore.tryAcquire();
            permit.ifPresent(got -> threads.remove(Thread.currentThread()));
            return permit;
        }
    }

    private static Bend queued(Line line) {
        return call -> waits(call, Duration.class)
                ? line.acquire(call.target(DistributedSemaphore.class), call.argument(0, Duration.class))
                : call.proceed();
    }

    static Bend stacked(ProbedServer server) {
        return queued(new Line() {
            @Override
            Thread next() {
                return threads.get(threads.size() - 1);
            }
        });
    }

    static Bend closingGapsWithTheLast(ProbedServer server) {
        return queued(new Line() {
            @Override
            void leave(Thread thread) {
                int last = threads.size() - 1;
                Collections.swap(threads, threads.indexOf(thread), last);
                threads.remove(last);
            }
        });
    }

    static Bend oneConnectionEach(ProbedServer server) {
        Semaphore connections = new Semaphore(CONNECTIONS);
        return call -> {
            if (!waits(call) && !waits(call, Duration.class)) {
                return call.proceed();
            }
            // Who has none after a while makes one.
            boolean pooled = connections.tryAcquire(2, TimeUnit.SECONDS);
            try {
                return call.proceed();
            } finally {
                if (pooled) {
                    connections.release();
                }
            }
        };
    }

    static Bend knownByThreadName(ProbedServer server) {
        Map<String, Permit> held = new ConcurrentHashMap<>();
        return call -> {
            if (!waits(call, Duration.class)) {
                return call.proceed();
            }
            String me = Thread.currentThread().getName();
            Permit known = held.get(me);
            if (known != null && known.isValid()) {
                return known;
            }
            Permit permit = call.target(DistributedSemaphore.class).acquire(call.argument(0, Duration.class));
            held.put(me, permit);
            return permit;
        };
    }
}
