package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A slot's file, locked by this process: a slot is held exactly as long as somebody has that lock.
 *
 * <p>Closing <em>any</em> descriptor of a file ends all locks that the process has on it (POSIX), so a file that is
 * locked here must not be opened a second time in this process. {@link LockTable} sees to that.
 */
final class SlotFile {
    private static final String PREFIX = "slot-";

    private final int slot;
    private final Path path;
    private final Object key;
    private final RandomAccessFile file;
    private volatile Optional<SlotRecord> record = Optional.empty();

    private SlotFile(int slot, Path path, Object key, RandomAccessFile file) {
        this.slot = slot;
        this.path = path;
        this.key = key;
        this.file = file;
    }

    static Path path(Path directory, int slot) {
        return directory.resolve(PREFIX + slot);
    }

    /** Returns the slot that a file is for; -1 if it is for none. */
    static int slotOf(Path file) {
        String name = String.valueOf(file.getFileName());
        return name.matches(PREFIX + "[1-9]\\d{0,7}") ? Integer.parseInt(name.substring(PREFIX.length())) : -1;
    }

    /**
     * Takes the lock. Only under the semaphore's mutex.
     *
     * @return the locked file; null if the slot is held, by whomever
     * @throws NoSuchFileException if there is no such file
     */
    static @Nullable SlotFile tryLock(Path directory, int slot) throws IOException {
        Path path = path(directory, slot);
        Object key = PrivateFiles.key(path);
        if (!LockTable.claim(key)) {
            return null;
        }
        SlotFile locked = null;
        try {
            locked = open(slot, path, key);
            return locked;
        } finally {
            if (locked == null) {
                LockTable.unclaim(key);
            } else {
                LockTable.opened(key, locked);
            }
        }
    }

    private static @Nullable SlotFile open(int slot, Path path, Object key) throws IOException {
        RandomAccessFile file = PrivateFiles.open(path);
        boolean keep = false;
        try {
            FileLock lock = file.getChannel().tryLock();
            if (lock == null) {
                return null;
            }
            if (!PrivateFiles.leadsTo(path, key)) {
                throw new NoSuchFileException(path.toString(), null, "replaced while it was opened");
            }
            keep = true;
            return new SlotFile(slot, path, key, file);
        } catch (OverlappingFileLockException e) {
            keep = true;
            LockTable.keepOpen(key, file);
            return null;
        } finally {
            if (!keep) {
                file.close();
            }
        }
    }

    int slot() {
        return slot;
    }

    /** Returns what the file says; empty if it is damaged or nothing was ever written. */
    Optional<SlotRecord> record() throws IOException {
        if (record.isEmpty()) {
            record = SlotRecord.read(file);
        }
        return record;
    }

    /** Returns what is known without touching the file: it may be another thread's. */
    Optional<SlotRecord> lastRecord() {
        return record;
    }

    void write(SlotRecord fresh) throws IOException {
        fresh.write(file);
        if (BootId.CURRENT.isEmpty()) {
            file.getFD().sync();
        }
        record = Optional.of(fresh);
    }

    /** Tells whether the slot's path still leads to the file that is locked. */
    boolean inPlace() throws IOException {
        return PrivateFiles.leadsTo(path, key);
    }

    /** Gives the slot back. Idempotent. */
    void close() {
        try {
            file.close();
        } catch (IOException e) {
            // The descriptor is gone in any case, and the lock with it.
        }
        LockTable.closed(key, this);
    }
}
