package io.github.distributedsemaphore.benchmarks.scale;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.PermitGroup;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.github.distributedsemaphore.benchmarks.servers.MeasuredServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Many clients at one semaphore: what they cost while all wait, how fast permits go round, and what is left when all die at once. */
public final class Crowd implements AutoCloseable {
    private static final String NAME = "scale";
    private static final Duration HOLD = Duration.ofMillis(10);
    private static final Duration PATIENCE = Duration.ofMinutes(3);
    /** So many begin to wait side by side: with all at once this process would be busy with them. */
    private static final int BEGINNING = 16;

    private final ScaleFigures figures;
    private final int permits;
    private final SemaphoreClient first;
    private final ScaleClients clients;
    private final List<SemaphoreClient> all = new ArrayList<>();
    private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
    private final LongAdder grants = new LongAdder();
    private final AtomicLong longestWait = new AtomicLong();
    private final Map<String, LongAdder> failures = new ConcurrentSkipListMap<>();
    /** Since when those wait that do, in nanoseconds; kept when an acquire fails. */
    private final Map<DistributedSemaphore, Long> begun = new ConcurrentHashMap<>();
    /** Those that were granted nothing since it was filled. */
    private final Set<DistributedSemaphore> waiting = ConcurrentHashMap.newKeySet();

    private volatile boolean goingOn = true;

    /**
     * Connects one client.
     *
     * @param figures takes the figures
     * @param uri of the server, with settings
     * @param permits the limit
     * @param share how many clients share what can be shared
     */
    public Crowd(ScaleFigures figures, String uri, int permits, int share) {
        this.figures = figures;
        this.permits = permits;
        this.first = SemaphoreClient.connect(uri);
        this.clients = new ScaleClients(uri, share);
    }

    /**
     * Measures.
     *
     * @param number how many clients
     * @param restarted the server, if it is to be restarted while permits go round; else null
     * @throws InterruptedException if the calling thread is interrupted
     */
    public void measure(int number, @Nullable MeasuredServer restarted) throws InterruptedException {
        first.admin().create(NAME, permits);
        PermitGroup held = first.semaphore(NAME).acquire(permits);
        gather(number);
        figures.progress("nobody gets anything");
        ServerUse idle = figures.use(() -> {});
        figures.add(
                "while all wait: requests a second for each client",
                (double) idle.commands() / figures.seconds() / number);
        figures.add("while all wait: processors of the server", idle.cpuMicros() / 1e6 / figures.seconds());

        figures.progress("permits go round");
        held.close();
        goRound();
        if (restarted != null) {
            restart(restarted);
        }
        goingOn = false;
        figures.add(
                "acquires that failed",
                failures.values().stream().mapToDouble(LongAdder::sum).sum());
        failures.forEach((kind, count) -> figures.add("  with " + kind, (double) count.sum()));
        figures.progress("all die");
        // Those who were granted something last hold it, and die with all who wait.
        TimeUnit.SECONDS.sleep(1);
        long start = System.nanoTime();
        clients.die(all);
        figures.add("all clients are dead after, seconds", secondsSince(start));
        try {
            first.semaphore(NAME).acquire(permits, PATIENCE).close();
            figures.add("all permits of the dead are free after, seconds", secondsSince(start));
        } catch (SemaphoreTimeoutException e) {
            figures.add(
                    "permits of the dead that are free after three minutes",
                    first.semaphore(NAME).availablePermits());
        }
    }

    private static double secondsSince(long nanos) {
        return (System.nanoTime() - nanos) / 1e9;
    }

    void gather(int number) throws InterruptedException {
        long memory = ScaleFigures.memory();
        long start = System.nanoTime();
        for (int i = 0; i < number; i++) {
            figures.progress((i + 1) + " of " + number + " clients wait");
            SemaphoreClient client = clients.connect();
            all.add(client);
            takeTurns(client.semaphore(NAME));
            awaitWaiting(all.get(Math.max(0, i - BEGINNING)));
        }
        for (SemaphoreClient client : all) {
            awaitWaiting(client);
        }
        figures.add("all clients wait after, seconds", secondsSince(start));
        figures.add("memory of the server for each client, KB", (ScaleFigures.memory() - memory) / 1e3 / number);
    }

    private static void awaitWaiting(SemaphoreClient client) throws InterruptedException {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (client.semaphore(NAME).statistics().exchanges() < 2) {
            if (System.nanoTime() - end > 0) {
                throw new BrokenRunException("a client did not come to wait within " + PATIENCE);
            }
            TimeUnit.MILLISECONDS.sleep(1);
        }
    }

    void goRound() throws InterruptedException {
        ServerUse busy = figures.use(() -> {
            grants.reset();
            longestWait.set(0);
        });
        long now = System.nanoTime();
        begun.values().forEach(start -> longestWait.accumulateAndGet(now - start, Math::max));
        long granted = grants.sum();
        figures.add("grants a second, held for 10 ms", (double) granted / figures.seconds());
        figures.add("requests for each grant", granted == 0 ? Double.NaN : (double) busy.commands() / granted);
        figures.add("processors of the server", busy.cpuMicros() / 1e6 / figures.seconds());
        figures.add("longest wait, seconds", longestWait.get() / 1e9);
    }

    private void restart(MeasuredServer server) throws InterruptedException {
        figures.progress("the server restarts");
        waiting.addAll(all.stream().map(client -> client.semaphore(NAME)).toList());
        long start = System.nanoTime();
        server.restart();
        figures.add("restart: the server answers after, seconds", secondsSince(start));
        grants.reset();
        awaitUntil(start, () -> grants.sum() > 0);
        figures.add("restart: the first grant after, seconds", secondsSince(start));
        awaitUntil(start, () -> waiting.size() <= all.size() / 2);
        figures.add("restart: half of the clients had a permit after, seconds", secondsSince(start));
        awaitUntil(start, waiting::isEmpty);
        figures.add("restart: all clients had a permit after, seconds", secondsSince(start));
        figures.add("restart: clients that had none within three minutes", waiting.size());
    }

    private void awaitUntil(long start, BooleanSupplier condition) throws InterruptedException {
        while (!condition.getAsBoolean() && System.nanoTime() - start < PATIENCE.toNanos()) {
            figures.progress("the server has restarted, " + waiting.size() + " clients had no permit yet");
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    private void takeTurns(DistributedSemaphore semaphore) {
        long start = begun.computeIfAbsent(semaphore, unused -> System.nanoTime());
        CompletableFuture<?> unusedTurn = semaphore.acquireAsync().whenComplete((permit, failure) -> {
            if (failure != null) {
                if (goingOn) {
                    failures.computeIfAbsent(failure.getClass().getSimpleName(), kind -> new LongAdder())
                            .increment();
                    takeTurns(semaphore);
                }
                return;
            }
            begun.remove(semaphore);
            longestWait.accumulateAndGet(System.nanoTime() - start, Math::max);
            grants.increment();
            waiting.remove(semaphore);
            if (goingOn) {
                Future<?> unused =
                        timer.schedule(() -> release(permit, semaphore), HOLD.toMillis(), TimeUnit.MILLISECONDS);
            }
        });
    }

    private void release(Permit permit, DistributedSemaphore semaphore) {
        CompletableFuture<?> unused = permit.releaseAsync().whenComplete((outcome, failure) -> takeTurns(semaphore));
    }

    @Override
    public void close() {
        goingOn = false;
        timer.shutdownNow();
        first.close();
        clients.die(all);
    }
}
