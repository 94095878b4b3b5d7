package io.github.distributedsemaphore.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.Permit;
import io.github.distributedsemaphore.ReleaseOutcome;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.SemaphoreClosedException;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.SemaphoreTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * One random play: a few threads of two clients at one semaphore, over a network with faults, on a simulated clock; which
 * threads, faults and times there are is drawn from the seed. At the end all slots must be free again.
 */
final class Scenario {
    private final World world;
    private final SimulatedEnvironment environment;
    private final Random random;
    private final Oracle oracle;

    Scenario(long seed) {
        world = new World(seed);
        environment = world.environment;
        random = world.random;
        oracle = world.oracle;
    }

    /** Plays it; returns what was seen, how often. */
    Map<String, Integer> play() throws Throwable {
        world.operator.create(World.NAME, world.limit);
        world.addClient();
        world.addClient();
        world.playing = 2 + random.nextInt(5);
        for (int i = world.playing; i > 0; i--) {
            SemaphoreClient client = world.clients.get(i % 2);
            environment.execute(() -> player(client));
        }
        Director director = new Director(world);
        environment.execute(director::direct);
        environment.execute(director::inspect);
        environment.run();
        return oracle.seen();
    }

    /** Where it ended, as a mark by which two plays can be compared. */
    String trace() {
        return environment.switches() + " switches until " + environment.nanoTime();
    }

    private void player(SemaphoreClient client) {
        try {
            for (int round = random.nextInt(4); round >= 0; round--) {
                turn(client);
            }
        } finally {
            world.playing--;
            if (world.director != null) {
                environment.unpark(world.director);
            }
        }
    }

    private void turn(SemaphoreClient client) {
        try {
            List<Permit> permits = acquire(client);
            if (!permits.isEmpty()) {
                hold(permits);
            } else {
                oracle.reached("refusal");
            }
        } catch (InterruptedException e) {
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
            oracle.reached("interrupt");
        } catch (IllegalArgumentException e) {
            assertThat(world.resizes).as("more than the limit: %s", e).isTrue();
        } catch (SemaphoreException e) {
            expected(e);
        }
    }

    private List<Permit> acquire(SemaphoreClient client) throws InterruptedException {
        var semaphore = client.semaphore(World.NAME);
        return switch (random.nextInt(8)) {
            case 0 -> semaphore.tryAcquire().map(List::of).orElse(List.of());
            case 1 ->
                semaphore
                        .tryAcquire(1 + random.nextInt(world.limit))
                        .map(group -> group.permits())
                        .orElse(List.of());
            case 2 ->
                semaphore.acquire(1 + random.nextInt(world.limit), wait(random)).permits();
            case 3 -> cancelled(semaphore.acquireAsync(wait(random)));
            case 4 -> interrupted(semaphore);
            case 5 -> timed(semaphore);
            default -> List.of(waiting(semaphore));
        };
    }

    private Permit waiting(DistributedSemaphore semaphore) throws InterruptedException {
        world.waiting++;
        try {
            return semaphore.acquire();
        } finally {
            world.waiting--;
        }
    }

    private static Duration wait(Random random) {
        return Duration.ofNanos((long) (Math.pow(10, random.nextInt(11)) * random.nextDouble()));
    }

    private List<Permit> timed(DistributedSemaphore semaphore) throws InterruptedException {
        Duration wait = wait(random);
        long start = environment.nanoTime();
        List<Permit> permits = semaphore.tryAcquire(wait).map(List::of).orElse(List.of());
        if (permits.isEmpty()) {
            assertThat(environment.nanoTime() - start).isGreaterThanOrEqualTo(wait.toNanos());
            oracle.reached("time-out");
        }
        return permits;
    }

    private List<Permit> interrupted(DistributedSemaphore semaphore) throws InterruptedException {
        Thread caller = Thread.currentThread();
        boolean[] over = new boolean[1];
        environment.schedule(
                () -> {
                    if (!over[0]) {
                        environment.interrupt(caller);
                    }
                },
                random.nextInt(50_000_000));
        try {
            return List.of(semaphore.acquire());
        } finally {
            over[0] = true;
            if (Thread.interrupted()) {
                oracle.reached("interrupt after grant");
            }
        }
    }

    private List<Permit> cancelled(CompletableFuture<Permit> future) {
        environment.schedule(
                () -> {
                    if (future.cancel(false)) {
                        oracle.reached("cancellation");
                    }
                },
                random.nextInt(50_000_000));
        Thread caller = Thread.currentThread();
        var done = future.whenComplete((permit, failure) -> environment.unpark(caller));
        while (!done.isDone()) {
            environment.park(this, Long.MAX_VALUE);
        }
        if (future.isCancelled()) {
            return List.of();
        }
        try {
            return List.of(future.join());
        } catch (CompletionException e) {
            throw (SemaphoreException) e.getCause();
        }
    }

    private void hold(List<Permit> permits) {
        oracle.granted(permits);
        try {
            switch (random.nextInt(6)) {
                case 0 -> environment.sleep(random.nextInt(100_000_000));
                case 1 -> environment.sleep(random.nextInt(1_000_000_000) * 8L);
                case 2 -> permits.get(0).verify();
                default -> environment.checkpoint();
            }
        } finally {
            for (Permit permit : permits) {
                if (world.isSafe()) {
                    assertThat(permit.isValid()).as("valid until release").isTrue();
                }
                release(permit);
            }
        }
    }

    private void release(Permit permit) {
        oracle.releasing(permit);
        try {
            ReleaseOutcome outcome = permit.release();
            oracle.released(permit, outcome);
            if (outcome == ReleaseOutcome.WAS_LOST) {
                oracle.reached("release after loss");
            }
        } catch (OutcomeUnknownException e) {
            oracle.reached("unconfirmed release");
        }
        assertThat(permit.isValid()).isFalse();
    }

    private void expected(SemaphoreException e) {
        if (e instanceof SemaphoreTimeoutException) {
            oracle.reached("time-out");
        } else if (e instanceof SemaphoreClosedException) {
            assertThat(world.closing).as("closed: %s", e).isTrue();
            oracle.reached("closed while waiting");
        } else if (e instanceof NoSuchSemaphoreException) {
            assertThat(world.destruction).as("missing: %s", e).isTrue();
            oracle.reached("destroyed while waiting");
        } else if (e.getMessage().contains("too late")) {
            oracle.reached("granted too late");
        } else if (e instanceof BackendUnavailableException || e instanceof OutcomeUnknownException) {
            assertThat(world.faults || world.crash || world.revocations)
                    .as("failure without fault: %s", e)
                    .isTrue();
            oracle.reached(e instanceof OutcomeUnknownException ? "unknown acquire" : "unavailable");
        } else {
            throw e;
        }
    }
}
