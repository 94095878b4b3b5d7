package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Who says that it holds a slot, in memory that processes share: a second opinion that owes nothing to the locks under test.
 * For each slot the process that is inside and the highest epoch that was ever inside, and for all the grants so far.
 */
final class HolderMap {
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final ByteBuffer memory;

    private HolderMap(ByteBuffer memory) {
        this.memory = memory;
    }

    static HolderMap open(Path file) {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return new HolderMap(
                    channel.map(FileChannel.MapMode.READ_WRITE, 0, 4096).order(ByteOrder.nativeOrder()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Goes in with a permit that was just granted. */
    void enter(int slot, long firstEpoch, long lastEpoch) {
        long self = ProcessHandle.current().pid();
        long inside = (long) LONGS.getAndSet(memory, slot * 16, self);
        if (inside != 0 && !isEnding(inside)) {
            throw new AssertionError("slot " + slot + " is with " + inside + " and with " + self);
        }
        long highest = (long) LONGS.getAndSet(memory, slot * 16 + 8, lastEpoch);
        if (firstEpoch <= highest) {
            throw new AssertionError("slot " + slot + " went from epoch " + highest + " to " + firstEpoch);
        }
        LONGS.getAndAdd(memory, 0, 1L);
    }

    /** Goes out, before the permit is given back. */
    void leave(int slot) {
        long self = ProcessHandle.current().pid();
        if (!LONGS.compareAndSet(memory, slot * 16, self, 0L)) {
            throw new AssertionError("slot " + slot + " was taken from " + self);
        }
    }

    long grants() {
        return (long) LONGS.getVolatile(memory, 0);
    }

    /** A killed process loses its files a moment before it is gone from the table of processes. */
    private static boolean isEnding(long pid) {
        try {
            String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            boolean exiting = (Long.parseLong(fields[6]) & 4) != 0;
            return exiting || fields[0].equals("Z") || fields[0].equals("X");
        } catch (IOException e) {
            return true;
        }
    }
}
