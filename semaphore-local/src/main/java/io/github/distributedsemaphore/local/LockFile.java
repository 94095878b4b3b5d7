package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A file that is open for locks on its bytes and for its content. Device and inode identify it. Thread-safe.
 *
 * <p>Closing <em>any</em> descriptor of a file ends all locks that the process has on the file (POSIX), also those of a copy of this
 * library under another class loader. A descriptor that is not needed any more therefore stays open until the process needs none
 * of that file. All class loaders share the table of descriptors, so it consists of classes of the JDK.
 *
 * <p>Content goes through {@link RandomAccessFile}, whose methods take no notice of interrupts; a channel would close itself.
 */
final class LockFile {
    private static final String PROPERTY = "io.github.distributedsemaphore.local.open";
    private static final int MOST_ATTEMPTS = 100;

    /** The open descriptors of each file, by its key, and which of them are still needed. */
    private static final ConcurrentHashMap<Object, Map<RandomAccessFile, Boolean>> OPEN = openInThisProcess();

    private final Path path;
    private final Object key;
    private final RandomAccessFile file;
    private final ReentrantLock position = new ReentrantLock();

    private LockFile(Path path, Object key, RandomAccessFile file) {
        this.path = path;
        this.key = key;
        this.file = file;
    }

    @SuppressWarnings("unchecked") // Only this class sets the property.
    private static ConcurrentHashMap<Object, Map<RandomAccessFile, Boolean>> openInThisProcess() {
        return (ConcurrentHashMap<Object, Map<RandomAccessFile, Boolean>>)
                System.getProperties().computeIfAbsent(PROPERTY, property -> new ConcurrentHashMap<>());
    }

    /**
     * Opens a file, after making it if it is missing.
     *
     * @throws NoSuchFileException if its directory does not exist
     */
    static LockFile open(Path path) throws IOException {
        for (int attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
            LockFile opened = createAndOpen(path);
            if (opened != null) {
                return opened;
            }
        }
        throw new FileSystemException(path.toString(), null, "it is deleted or replaced again and again");
    }

    /**
     * Makes a file if it is missing and opens it. Whatever makes a file closes it again, and would drop the locks of a copy of this
     * library that has opened the file in between. All copies have the lock of this one object, and nothing waits under it.
     */
    private static @Nullable LockFile createAndOpen(Path path) throws IOException {
        synchronized (OPEN) {
            PrivateFiles.createFile(path);
            return openExisting(path);
        }
    }

    /** Opens a file that was there just now; null if somebody has deleted or replaced it. */
    private static @Nullable LockFile openExisting(Path path) throws IOException {
        try {
            Object key = PrivateFiles.key(path);
            RandomAccessFile file = PrivateFiles.open(path, "rw");
            note(key, file, true);
            if (PrivateFiles.leadsTo(path, key)) {
                return new LockFile(path, key, file);
            }
            // Which of the two is open is not known.
            note(key, file, false);
        } catch (NoSuchFileException e) {
            // Whether the directory is gone too, the next attempt to make the file tells.
        }
        return null;
    }

    /** Notes whether a descriptor is needed; closes all descriptors of a file of which none is. */
    private static void note(Object key, RandomAccessFile file, boolean needed) {
        OPEN.compute(key, (unused, known) -> {
            Map<RandomAccessFile, Boolean> descriptors = known == null ? new HashMap<>() : known;
            descriptors.put(file, needed);
            if (descriptors.containsValue(true)) {
                return descriptors;
            }
            descriptors.keySet().forEach(LockFile::close);
            return null;
        });
    }

    private static void close(RandomAccessFile file) {
        try {
            file.close();
        } catch (IOException e) {
            // The descriptor is gone in any case, and its locks with it.
        }
    }

    /** Returns of how many files this process has descriptors. */
    static int openFiles() {
        return OPEN.size();
    }

    /** Ends its use. The caller has given back its locks on it before. */
    void close() {
        note(key, file, false);
    }

    /** Tells whether the path still leads to this file. */
    boolean isInPlace() throws IOException {
        return PrivateFiles.leadsTo(path, key);
    }

    /** Locks some bytes; null if anybody else has a lock there, be it in this process. */
    @Nullable
    FileLock tryLock(long from, long size) throws IOException {
        try {
            return file.getChannel().tryLock(from, size, false);
        } catch (OverlappingFileLockException e) {
            return null;
        }
    }

    /**
     * Waits for a lock on a byte, for however long that takes.
     *
     * @throws OverlappingFileLockException if somebody else in this process has the lock or waits for it
     */
    FileLock lock(long at) throws IOException {
        return file.getChannel().lock(at, 1, false);
    }

    /** Tells whether anybody else has a lock on some bytes. */
    boolean isLocked(long from, long size) throws IOException {
        FileLock lock = tryLock(from, size);
        if (lock != null) {
            lock.release();
        }
        return lock == null;
    }

    /** Tells whether a lock is one on this file that still holds. */
    boolean has(@Nullable FileLock lock) {
        return lock != null && lock.isValid() && lock.acquiredBy() == file.getChannel();
    }

    /** Returns bytes of the content, and zeros beyond its end. */
    byte[] read(long from, int length) throws IOException {
        byte[] bytes = new byte[length];
        position.lock();
        try {
            file.seek(from);
            int read = 0;
            for (int n = 0; n >= 0 && read < length; n = file.read(bytes, read, length - read)) {
                read += n;
            }
            return bytes;
        } finally {
            position.unlock();
        }
    }

    void write(long at, byte[] bytes) throws IOException {
        position.lock();
        try {
            file.seek(at);
            file.write(bytes);
        } finally {
            position.unlock();
        }
    }

    /** Makes the content last. */
    void sync() throws IOException {
        file.getFD().sync();
    }
}
