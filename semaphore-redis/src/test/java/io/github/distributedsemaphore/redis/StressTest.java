package io.github.distributedsemaphore.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.BackendAdmin;
import io.github.distributedsemaphore.spi.BackendSession;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import org.junit.jupiter.api.Test;

/** Many clients take, keep and give back at random, while somebody resizes; two never have one slot, and epochs rise. */
class StressTest {
    private static final int CLIENTS = 6;
    private static final int LIMIT = 5;
    private static final Duration TIME = Duration.ofMillis(1_500);
    /** On a busy machine so many grants take longer. */
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    /** So that slots have changed hands. */
    private static final int ENOUGH = 100;

    private final AtomicIntegerArray inside = new AtomicIntegerArray(LIMIT + 1);
    private final AtomicLongArray epochs = new AtomicLongArray(LIMIT + 1);
    private final AtomicBoolean over = new AtomicBoolean();
    private final AtomicInteger grants = new AtomicInteger();

    @Test
    void noSlotHasTwoHoldersAndNothingIsLeft() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(CLIENTS + 1);
        try (Redis redis = new Redis()) {
            BackendAdmin admin = redis.backend().admin();
            admin.create("jobs", LIMIT);
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < CLIENTS; i++) {
                BackendSession session = redis.session("jobs");
                long seed = i;
                running.add(threads.submit(() -> work(session, new Random(seed))));
            }
            running.add(threads.submit(resizing(admin)));
            long end = System.nanoTime() + TIME.toNanos();
            while (System.nanoTime() - end < 0 || isTooEarly(end)) {
                Thread.sleep(10);
            }
            over.set(true);
            for (Future<?> future : running) {
                future.get();
            }
            assertThat(grants).hasValueGreaterThan(ENOUGH);
            admin.resize("jobs", LIMIT);
            assertThat(Redis.takeHolds(redis.session("jobs"), LIMIT)).hasSize(LIMIT);
        } finally {
            threads.shutdownNow();
        }
    }

    private boolean isTooEarly(long end) {
        return grants.get() <= ENOUGH && System.nanoTime() - end < PATIENCE.toNanos();
    }

    private Callable<Void> resizing(BackendAdmin admin) {
        return () -> {
            for (int i = 0; !over.get(); i++) {
                admin.resize("jobs", 1 + i % LIMIT);
                Thread.sleep(7);
            }
            return null;
        };
    }

    private void work(BackendSession session, Random random) {
        List<Hold> held = new ArrayList<>();
        while (!over.get()) {
            List<Hold> back = random.nextInt(3) == 0 ? List.of() : List.copyOf(held);
            back.forEach(this::leave);
            held.removeAll(back);
            ExchangeResult result = session.exchange(new ExchangeRequest(
                    back, List.of(1 + random.nextInt(2), 1), 1 + random.nextInt(60), random.nextBoolean()));
            assertThat(result.lost()).isEmpty();
            for (Answer answer : result.answers()) {
                if (answer instanceof Answer.Granted granted) {
                    granted.holds().forEach(this::enter);
                    held.addAll(granted.holds());
                    grants.incrementAndGet();
                }
            }
        }
        held.forEach(this::leave);
        session.exchange(new ExchangeRequest(held, List.of(), 1, false));
        assertThat(session.renew(Set.of()).lost()).isEmpty();
    }

    private void enter(Hold hold) {
        assertThat(inside.incrementAndGet(hold.slot()))
                .as("holders of slot %s", hold.slot())
                .isEqualTo(1);
        assertThat(hold.epoch()).isGreaterThan(epochs.getAndSet(hold.slot(), hold.lastEpoch()));
    }

    private void leave(Hold hold) {
        inside.decrementAndGet(hold.slot());
    }
}
