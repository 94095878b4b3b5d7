package io.github.distributedsemaphore.tck.storms;

import io.github.distributedsemaphore.DistributedSemaphore;
import io.github.distributedsemaphore.tck.history.Endurance;
import io.github.distributedsemaphore.tck.history.HistoryRecorder;
import io.github.distributedsemaphore.tck.run.Pause;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;

/** Takes and gives back permits, whatever goes wrong meanwhile. For one thread. */
record FaultWorker(
        DistributedSemaphore semaphore,
        int client,
        HistoryRecorder recorder,
        Random random,
        Traffic traffic,
        AtomicBoolean over) {
    private static final int LONGEST_HOLD_MILLIS = 150;
    private static final int SHORT_HOLD_MILLIS = 4;
    /** What takes longer is no longer waited for, so that there is traffic during it too. */
    private static final long LONGEST_FAULT_NANOS = 2_000_000_000;

    /** Works until it is over. */
    boolean work() {
        Endurance.turns(semaphore, recorder, random, over, holding -> {
            if (holding) {
                traffic.enter();
                hold();
                traffic.leave();
            }
        });
        return true;
    }

    /** Most of those that a fault meets hold on until it is over and a little longer: a client that gets their slots is found out. */
    private void hold() {
        int before = traffic.faults();
        boolean holdsOn = random.nextInt(3) > 0;
        Pause.millis(random.nextInt(random.nextInt(5) == 0 ? LONGEST_HOLD_MILLIS : SHORT_HOLD_MILLIS));
        boolean loses = random.nextBoolean();
        while (loses && traffic.isIsolated(client) && !over.get()) {
            Pause.millis(5);
        }
        if (holdsOn && traffic.isDisturbedSince(before)) {
            long start = System.nanoTime();
            while (traffic.isDisturbedSince(before) && !over.get() && System.nanoTime() - start < LONGEST_FAULT_NANOS) {
                Pause.millis(5);
            }
            Pause.millis(random.nextInt(LONGEST_HOLD_MILLIS));
        }
    }
}
