package io.github.distributedsemaphore.benchmarks.cells;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * What one process did in one round.
 *
 * @param pairs acquires that were released again within the time
 * @param heldNanos for how long permits were held within the time, over all threads
 * @param acquire how long each acquire took in nanoseconds, an encoded histogram
 * @param handOver from the call of release in another process until acquire returned here, likewise
 * @param cpuNanos of processor time that the process used, all its threads and its JVM included
 * @param allocatedBytes that its threads allocated
 */
public record RoundReport(
        long pairs, long heldNanos, String acquire, String handOver, long cpuNanos, long allocatedBytes) {
    private static final long LONGEST_NANOS = TimeUnit.MINUTES.toNanos(2);

    public static Histogram histogram() {
        return new Histogram(1, LONGEST_NANOS, 3);
    }

    Histogram acquires() {
        return decode(acquire);
    }

    Histogram handOvers() {
        return decode(handOver);
    }

    private static Histogram decode(String text) {
        try {
            return Histogram.decodeFromCompressedByteBuffer(
                    ByteBuffer.wrap(Base64.getDecoder().decode(text)), 0);
        } catch (DataFormatException e) {
            throw new BrokenRunException("A worker sent a histogram that cannot be read", e);
        }
    }

    /** Adds up the threads of a process. */
    public static final class Builder {
        private final Histogram acquires = histogram();
        private final Histogram handOvers = histogram();
        private long pairs;
        private long heldNanos;

        public void add(long morePairs, long moreHeldNanos, Histogram acquire, Histogram handOver) {
            pairs += morePairs;
            heldNanos += moreHeldNanos;
            acquires.add(acquire);
            handOvers.add(handOver);
        }

        public RoundReport build(long cpuNanos, long allocatedBytes) {
            return new RoundReport(pairs, heldNanos, encode(acquires), encode(handOvers), cpuNanos, allocatedBytes);
        }

        private static String encode(Histogram histogram) {
            byte[] bytes = new byte[histogram.getNeededByteBufferCapacity()];
            int length = histogram.encodeIntoCompressedByteBuffer(ByteBuffer.wrap(bytes));
            return Base64.getEncoder().encodeToString(Arrays.copyOf(bytes, length));
        }
    }
}
