package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Which client took each slot last and has not given it back: eight bytes a slot. The locks alone decide; the index saves trying
 * them one by one, and tells a client which slot files its own process has locked under another class loader.
 *
 * <p>Zero means given back. A process that dies leaves its numbers behind, and then its locks are free. Changed under
 * the semaphore's mutex, but for clearing one's own number.
 */
final class OwnerIndex implements AutoCloseable {
    static final String NAME = "owners";
    static final long NOBODY = 0;
    /** What a slot beyond the end of the file has: only its lock can tell. */
    static final long UNKNOWN = -1;

    private final RandomAccessFile file;
    private int length;

    private OwnerIndex(RandomAccessFile file) throws IOException {
        this.file = file;
        this.length = (int) (file.length() / Long.BYTES);
    }

    static OwnerIndex open(Path directory) throws IOException {
        Path path = directory.resolve(NAME);
        PrivateFiles.createFile(path);
        return new OwnerIndex(PrivateFiles.open(path));
    }

    /** Opens it without creating it, to clear a number only. */
    static OwnerIndex openExisting(Path directory) throws IOException {
        return new OwnerIndex(PrivateFiles.open(directory.resolve(NAME)));
    }

    /** Returns the owners of slots 1 to so many, at index slot - 1. */
    long[] read(int slots) throws IOException {
        byte[] bytes = new byte[Math.min(length, slots) * Long.BYTES];
        file.seek(0);
        file.readFully(bytes);
        long[] owners = new long[slots];
        Arrays.fill(owners, UNKNOWN);
        LongBuffer read = ByteBuffer.wrap(bytes).asLongBuffer();
        read.get(owners, 0, read.remaining());
        return owners;
    }

    /** Tells whether any slot has been given back and not taken since; removed slots count as well. */
    boolean hasGivenBack() throws IOException {
        return Arrays.stream(read(length)).anyMatch(owner -> owner == NOBODY);
    }

    /** Makes room for so many slots, all with that owner. */
    void extend(int slots, long owner) throws IOException {
        if (length < slots) {
            ByteBuffer added = ByteBuffer.allocate((slots - length) * Long.BYTES);
            while (added.hasRemaining()) {
                added.putLong(owner);
            }
            file.seek((long) length * Long.BYTES);
            file.write(added.array());
            length = slots;
        }
    }

    void set(int slot, long owner) throws IOException {
        file.seek((slot - 1L) * Long.BYTES);
        file.writeLong(owner);
    }

    /** Notes that a slot was given back, if nobody has taken it meanwhile. */
    void clear(int slot, long owner) throws IOException {
        if (slot <= length) {
            file.seek((slot - 1L) * Long.BYTES);
            if (file.readLong() == owner) {
                set(slot, NOBODY);
            }
        }
    }

    static long owner(int process, int session) {
        return ((long) process << 32) | (session & 0xffff_ffffL);
    }

    static boolean isOfThisProcess(long owner) {
        return owner >>> 32 == LockTable.PROCESS;
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
