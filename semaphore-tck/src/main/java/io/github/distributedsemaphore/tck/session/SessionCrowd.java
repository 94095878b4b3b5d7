package io.github.distributedsemaphore.tck.session;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.distributedsemaphore.spi.Answer;
import io.github.distributedsemaphore.spi.ExchangeRequest;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.Hold;
import io.github.distributedsemaphore.spi.HoldState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Clients that exchange, renew and check at once, and a count of the slots that they hold: from the answer of a grant to the moment
 * before the hold is given back.
 */
final class SessionCrowd {
    private static final Duration BUSY = Duration.ofMillis(1_500);

    private final boolean[] taken;
    private int grants;

    SessionCrowd(int limit) {
        this.taken = new boolean[limit + 1];
    }

    /** Each client keeps one hold that is renewed and checked, and exchanges others meanwhile. */
    void run(List<SessionClient> all) throws ExecutionException, InterruptedException {
        List<Hold> kept = all.stream().flatMap(each -> each.take(1).stream()).toList();
        enter(kept);
        ExecutorService threads = Executors.newFixedThreadPool(2 * all.size());
        try {
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < all.size(); i++) {
                SessionClient each = all.get(i);
                Hold own = kept.get(i);
                running.add(threads.submit(() -> exchangeAtRandom(each)));
                running.add(threads.submit(() -> keep(each, own)));
            }
            for (Future<?> one : running) {
                one.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    /** Renewals and checks may come while an exchange is under way. */
    private static void keep(SessionClient by, Hold hold) {
        long end = System.nanoTime() + BUSY.toNanos();
        while (System.nanoTime() - end < 0) {
            assertThat(by.session.renew(List.of(hold)).lost()).isEmpty();
            assertThat(by.session.check(hold)).isEqualTo(HoldState.HELD);
        }
    }

    private void exchangeAtRandom(SessionClient by) {
        Random random = new Random();
        List<Hold> held = new ArrayList<>();
        long end = System.nanoTime() + BUSY.toNanos();
        while (System.nanoTime() - end < 0 || !held.isEmpty()) {
            boolean over = System.nanoTime() - end >= 0;
            List<Hold> back =
                    held.stream().filter(hold -> over || random.nextBoolean()).toList();
            List<Integer> wants = over ? List.of() : List.of(1 + random.nextInt(2), 1);
            leave(back);
            ExchangeResult result = by.session.exchange(new ExchangeRequest(back, wants, SessionClient.EPOCHS, false));
            assertThat(result.lost()).isEmpty();
            held.removeAll(back);
            for (Answer answer : result.answers()) {
                if (answer instanceof Answer.Granted granted) {
                    enter(granted.holds());
                    held.addAll(granted.holds());
                }
            }
        }
    }

    private synchronized void enter(List<Hold> holds) {
        for (Hold hold : holds) {
            assertThat(taken[hold.slot()])
                    .as("slot %s has a holder", hold.slot())
                    .isFalse();
            taken[hold.slot()] = true;
            grants++;
        }
    }

    private synchronized void leave(List<Hold> holds) {
        holds.forEach(hold -> taken[hold.slot()] = false);
    }

    synchronized int grants() {
        return grants;
    }
}
