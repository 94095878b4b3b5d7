package io.github.distributedsemaphore.benchmarks.run;

import io.github.distributedsemaphore.benchmarks.cells.Variant;
import io.github.distributedsemaphore.benchmarks.contestants.Pass;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Counts who is inside, over all processes, without asking anybody who is measured: atomic counters in a file that all
 * processes map. Every holder enters after it got its permit and leaves before it releases it, so whoever is counted holds.
 *
 * <p>Thread-safe, and safe among processes of one machine.
 */
final class HolderWatch {
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    // Words of eight bytes in the file; those that everybody changes have a cache line of their own.
    private static final int OVER_LIMIT = 0;
    private static final int SLOT_TWICE = 1;
    private static final int EPOCH_NOT_RISING = 2;
    private static final int MOST_INSIDE = 3;
    private static final int RELEASED_AT = 8;
    private static final int RELEASED_BY = 9;
    private static final int FIRST_NAME = 16;

    private final ByteBuffer words;
    private final int names;
    private final int limit;
    private final int slots;

    private HolderWatch(ByteBuffer words, Variant variant) {
        this.words = words;
        this.names = variant.names();
        this.limit = variant.limit() - variant.held();
        this.slots = variant.limit();
    }

    /** Maps the file, which is made with zeros if there is none. */
    static HolderWatch open(Path file, Variant variant) {
        long size = 8L * (FIRST_NAME + (long) variant.names() * (1 + 2L * variant.limit()));
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return new HolderWatch(channel.map(FileChannel.MapMode.READ_WRITE, 0, size), variant);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void enter(int name, Pass pass) {
        long inside = add(inside(name), 1) + 1;
        if (inside > limit) {
            add(OVER_LIMIT, 1);
        }
        if (inside > get(MOST_INSIDE)) {
            LONGS.setVolatile(words, MOST_INSIDE * 8, inside);
        }
        if (pass.slot() > 0) {
            if (pass.slot() > slots || add(holders(name, pass.slot()), 1) != 0) {
                add(SLOT_TWICE, 1);
            }
            long before = (long) LONGS.getAndSet(words, epoch(name, pass.slot()) * 8, pass.epoch());
            if (pass.epoch() <= before) {
                add(EPOCH_NOT_RISING, 1);
            }
        }
    }

    void leave(int name, Pass pass) {
        if (pass.slot() > 0) {
            add(holders(name, pass.slot()), -1);
        }
        add(inside(name), -1);
    }

    /** Notes that a process is about to release the only permit there is. */
    void releasing(int process) {
        LONGS.setVolatile(words, RELEASED_BY * 8, (long) process);
        LONGS.setVolatile(words, RELEASED_AT * 8, System.nanoTime());
    }

    /**
     * When the only permit there is was released by another process, after somebody here began to wait. Zero if it was not.
     * Linux has one monotonic clock for all processes.
     */
    long releasedElsewhere(int process, long since) {
        long at = get(RELEASED_AT);
        return get(RELEASED_BY) != process && at - since > 0 ? at : 0;
    }

    /** What was broken so far; empty if nothing. */
    List<String> violations() {
        List<String> found = new ArrayList<>();
        describe(
                found,
                OVER_LIMIT,
                " holders entered above the limit of " + limit + ", at most " + get(MOST_INSIDE) + " were inside");
        describe(found, SLOT_TWICE, " holders entered a slot that was held or does not exist");
        describe(found, EPOCH_NOT_RISING, " epochs were not above the one before in their slot");
        return found;
    }

    private void describe(List<String> found, int word, String what) {
        if (get(word) > 0) {
            found.add(get(word) + what);
        }
    }

    private static int inside(int name) {
        return FIRST_NAME + name;
    }

    private int holders(int name, int slot) {
        return FIRST_NAME + names + 2 * (name * slots + slot - 1);
    }

    private int epoch(int name, int slot) {
        return holders(name, slot) + 1;
    }

    private long get(int word) {
        return (long) LONGS.getVolatile(words, word * 8);
    }

    private long add(int word, long change) {
        return (long) LONGS.getAndAdd(words, word * 8, change);
    }
}
