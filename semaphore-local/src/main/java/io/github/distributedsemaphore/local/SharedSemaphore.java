package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.IncompatibleStateException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.WatchKey;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the clients of this process share about one semaphore: its mutex, and its waiters.
 *
 * <p>A process that waits shows it by a lock on one byte of the mutex file, at a place of its own beyond the first. A process that
 * frees a slot looks whether another one has such a lock, and only then touches the file whose change wakes the waiters.
 */
final class SharedSemaphore {
    private static final Logger LOG = LoggerFactory.getLogger(SharedSemaphore.class);

    /** Comes and goes to wake processes that watch the directory. */
    static final String RELEASED = "released";

    static final String MUTEX = "mutex";

    /** The byte of the mutex file that one of the waiting processes has locked. */
    private static final long LOOKOUT = 1;

    private final String name;
    private final Path directory;
    private final FileMutex mutex;
    private final DirectoryWatch directoryWatch;
    private final ConcurrentHashMap<Object, Runnable> watchers = new ConcurrentHashMap<>();
    private final long place = ThreadLocalRandom.current().nextLong(LOOKOUT + 1, 1L << 60);
    private volatile @Nullable FileLock presence;
    private @Nullable FileLock lookout;
    private @Nullable WatchKey watchKey;

    SharedSemaphore(String name, Path directory, DirectoryWatch directoryWatch) {
        this.name = name;
        this.directory = directory;
        this.directoryWatch = directoryWatch;
        this.mutex = new FileMutex(directory.resolve(MUTEX));
    }

    String name() {
        return name;
    }

    Path directory() {
        return directory;
    }

    /**
     * Begins what must be done by one client at a time.
     *
     * @return false if the semaphore has no directory; then there is nothing to {@link #leave}
     */
    boolean enter(Call call) throws IOException {
        boolean entered = false;
        try {
            entered = mutex.lock(call);
            return entered;
        } finally {
            if (!entered) {
                dropPresence();
            }
        }
    }

    void leave() {
        mutex.unlock();
        dropPresence();
    }

    /**
     * Takes back the sign that this process waits, after the last of its waiters has gone. A thread that is busy with the mutex
     * does it when it has finished: the end of a watch waits for nobody.
     */
    private void dropPresence() {
        try {
            while (presence != null && watchers.isEmpty() && mutex.tryAmongThreads(this::showPresence)) {
                LOG.trace("{}: this process does not wait any more", directory);
            }
        } catch (IOException e) {
            LOG.debug("{}: waiting did not end in order; others look for waiters in vain", directory, e);
        }
    }

    /** Deletes what remains of a semaphore without slots. Under the mutex, which goes too. */
    void deleteDirectory() throws IOException {
        mutex.deleted();
        SlotTable.deleteDirectory(directory);
    }

    /** Adds a waiter of a session; its hint is called after {@link #wake}, or when the directory shows a change. */
    void addWatcher(Object session, Runnable hint, Call call) throws IOException {
        watchers.put(session, hint);
        if (enter(call)) {
            try {
                showPresence();
                watchDirectory();
            } finally {
                leave();
            }
        }
    }

    private void watchDirectory() {
        WatchKey key = watchKey;
        if (key == null || !key.isValid()) {
            // Kept until the last user has gone: coming and going with each wait would cost more than the needless
            // hints.
            watchKey = directoryWatch.watch(directory, this::changed);
        }
    }

    /** Removes a waiter. Does not wait. */
    void removeWatcher(Object session, Runnable hint) {
        watchers.remove(session, hint);
        dropPresence();
    }

    /** Takes or drops the locks that say that this process waits, and looks out for dead holders. For one thread at a time. */
    private void showPresence() throws IOException {
        boolean waiting = !watchers.isEmpty();
        presence = takenOrDropped(waiting, presence, place);
        lookout = takenOrDropped(waiting, lookout, LOOKOUT);
    }

    private @Nullable FileLock takenOrDropped(boolean wanted, @Nullable FileLock current, long at) throws IOException {
        FileLock held = current != null && current.isValid() ? current : null;
        if (wanted && held == null) {
            RandomAccessFile file = mutex.file();
            return file == null ? null : tryLock(file, at);
        }
        if (!wanted && held != null) {
            held.release();
            return null;
        }
        return held;
    }

    private static @Nullable FileLock tryLock(RandomAccessFile file, long at) throws IOException {
        try {
            return file.getChannel().tryLock(at, 1, false);
        } catch (OverlappingFileLockException e) {
            // A copy of this library under another class loader has it.
            return null;
        }
    }

    /**
     * Whether this process is the one among the waiting that looks often for slots whose holder was killed, which nothing
     * tells. If all did, a crowd would keep each other from getting on. Under the mutex.
     */
    boolean isLookout() {
        FileLock current = lookout;
        return current != null && current.isValid();
    }

    /** Tells whether anybody in this process but that session waits. */
    boolean othersWaitingHere(Object session) {
        return watchers.size() > (watchers.containsKey(session) ? 1 : 0);
    }

    /** Tells whether anybody in another process waits. Under the mutex. */
    boolean otherProcessesWaiting() throws IOException {
        showPresence();
        return isLockedElsewhere(LOOKOUT + 1, place - LOOKOUT - 1)
                || isLockedElsewhere(place + 1, Long.MAX_VALUE - place - 1);
    }

    private boolean isLockedElsewhere(long from, long size) throws IOException {
        RandomAccessFile file = mutex.file();
        if (file == null) {
            return false;
        }
        try {
            FileLock lock = file.getChannel().tryLock(from, size, false);
            if (lock == null) {
                return true;
            }
            lock.release();
            return false;
        } catch (OverlappingFileLockException e) {
            return true;
        }
    }

    /** Wakes the waiters of other processes. Under the mutex. */
    void wakeOtherProcesses() throws IOException {
        Path released = directory.resolve(RELEASED);
        try {
            Files.createFile(released, PrivateFiles.FILE);
        } catch (FileAlreadyExistsException e) {
            Files.deleteIfExists(released);
        } catch (NoSuchFileException e) {
            // The directory is gone, which wakes them too.
        }
    }

    /** Wakes the waiters of this process but for one session. After the mutex was left. */
    void wake(Object except) {
        watchers.forEach((session, hint) -> {
            if (session != except) {
                hint.run();
            }
        });
    }

    /**
     * The directory shows a change. If only a slot was released, and others were quicker to take it, there is no reason to
     * queue for the mutex.
     */
    private void changed(boolean releasedOnly) {
        if (!releasedOnly || mayBeFree()) {
            wake(this);
        }
    }

    private boolean mayBeFree() {
        try (OwnerIndex index = OwnerIndex.openExisting(directory)) {
            return index.hasGivenBack();
        } catch (IOException | IncompatibleStateException e) {
            return true;
        }
    }

    /** Lets go of files; the last user of this process has gone. */
    void close() {
        WatchKey key = watchKey;
        if (key != null) {
            directoryWatch.forget(key);
        }
        mutex.close();
    }
}
