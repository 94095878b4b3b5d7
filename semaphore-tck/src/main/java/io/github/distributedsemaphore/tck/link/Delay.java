package io.github.distributedsemaphore.tck.link;

import java.time.Duration;
import java.util.Random;

/** See {@link TcpProxy#delay}. */
final class Delay extends OneWay {
    private final long least;
    private final long spread;
    private final Random random;

    Delay(TcpProxy proxy, Duration least, Duration most, Random random, Direction... directions) {
        super(proxy, "delay", directions);
        this.least = least.toNanos();
        this.spread = most.minus(least).toNanos();
        this.random = random;
    }

    @Override
    byte[] carry(Line line, Direction direction, byte[] bytes) {
        if (concerns(direction)) {
            strike();
            sleep(least + (long) (random.nextDouble() * spread));
        }
        return bytes;
    }

    static void sleep(long nanos) {
        try {
            Thread.sleep(nanos / 1_000_000, (int) (nanos % 1_000_000));
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts a proxy", e);
        }
    }
}
