package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.WatchKey;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the clients of this process share about one semaphore: its table with the mutex, and its waiters.
 *
 * <p>A process that waits shows it by a lock on one byte of the table, at a place of its own. A process that frees a slot looks
 * whether another one has such a lock, and only then touches the file whose change wakes the waiters.
 */
final class SharedSemaphore {
    private static final Logger LOG = LoggerFactory.getLogger(SharedSemaphore.class);

    /** The semaphores in use in this process, by the key of their state directory and the name of their own. */
    static final UseCounts<SharedSemaphore> IN_USE = new UseCounts<>();

    /** The byte of the table that one of the waiting processes has locked; the place of each is beyond, below {@link #PLACES_END}. */
    private static final long LOOKOUT = 1;

    private static final long PLACES_END = 1L << 60;

    private final String name;
    private final Path directory;
    private final FileMutex mutex;
    private final DirectoryWatch directoryWatch;
    private final ConcurrentHashMap<Object, Runnable> watchers = new ConcurrentHashMap<>();
    private final long place = ThreadLocalRandom.current().nextLong(LOOKOUT + 2, PLACES_END - 1);
    private volatile @Nullable FileLock presence;
    private @Nullable FileLock lookout;
    private @Nullable WatchKey watchKey;

    /**
     * The table whose directory is watched, or for which a watch was tried last. A refused watch is tried again for another table, or
     * when the next waiter comes.
     */
    private @Nullable LockFile watchTried;

    SharedSemaphore(String name, Path directory, DirectoryWatch directoryWatch) {
        this.name = name;
        this.directory = directory;
        this.directoryWatch = directoryWatch;
        this.mutex = new FileMutex(directory.resolve(SlotTable.NAME));
    }

    String name() {
        return name;
    }

    Path directory() {
        return directory;
    }

    /** Returns the open table; null if this process has not used it yet. */
    @Nullable
    LockFile table() {
        return mutex.file();
    }

    /** Reads the slots 1 to {@code highest}. Under the mutex. */
    SlotTable slots(int highest) throws IOException {
        return SlotTable.read(mutex.heldFile(), highest);
    }

    /** Reads all slots that there are, and 1 to {@code least} at least. Under the mutex. */
    SlotTable allSlots(int least) throws IOException {
        return SlotTable.readAll(mutex.heldFile(), least);
    }

    /** What is done with files. */
    @FunctionalInterface
    interface Step<T> {
        T run() throws IOException;
    }

    /** Does what must be done by one client at a time; empty if the semaphore has no directory. */
    <T> Optional<T> underMutex(Call call, Step<T> step) throws IOException {
        boolean entered = false;
        try {
            entered = mutex.lock(call);
            return entered ? Optional.of(step.run()) : Optional.empty();
        } finally {
            if (entered) {
                mutex.unlock();
            }
            dropPresence();
        }
    }

    /**
     * Takes back the sign that this process waits, after the last of its waiters has gone. A thread that is busy with the mutex
     * does it when it has finished: the end of a watch waits for nobody.
     */
    private void dropPresence() {
        try {
            while (presence != null && watchers.isEmpty() && mutex.tryAmongThreads(this::dropIfNobodyWaits)) {
                LOG.trace("{}: this process does not wait any more", directory);
            }
        } catch (IOException e) {
            LOG.debug("{}: waiting did not end in order; others look for waiters in vain", directory, e);
        }
    }

    /** Without the mutex: the sign of a waiter that came meanwhile is left alone, as others may be looking for it. */
    private void dropIfNobodyWaits() throws IOException {
        if (watchers.isEmpty()) {
            showPresence();
        }
    }

    /** Deletes what remains of a semaphore without holders, the limit's file being gone. The last step under the mutex, which goes too. */
    void deleteDirectory() throws IOException {
        try {
            for (String file : List.of(DirectoryWatch.RELEASED, LimitFile.NAME + ".new", SlotTable.NAME)) {
                Files.deleteIfExists(directory.resolve(file));
            }
            deleteIfEmpty(directory);
        } finally {
            mutex.closeFile();
        }
    }

    private static void deleteIfEmpty(Path directory) throws IOException {
        try {
            Files.deleteIfExists(directory);
        } catch (DirectoryNotEmptyException e) {
            // Another process is just creating the semaphore again, or there are foreign files here.
        }
    }

    /** Adds a waiter of a session; its hint is called after {@link #wake}, or when the directory shows a change. */
    void addWatcher(Object session, Runnable hint, Call call) throws IOException {
        watchers.put(session, hint);
        underMutex(call, () -> {
            if (watchKey == null) {
                watchTried = null;
            }
            showPresence();
            return true;
        });
    }

    /** Removes a waiter. Does not wait. */
    void removeWatcher(Object session, Runnable hint) {
        watchers.remove(session, hint);
        dropPresence();
    }

    /**
     * Takes or drops the locks that say that this process waits, and looks out for dead holders. Watches the directory of a waiter. A
     * watch ends with its directory, or goes with it where it is moved to, and the waiter may go on waiting in the next one. For one
     * thread at a time.
     */
    private void showPresence() throws IOException {
        boolean waiting = !watchers.isEmpty();
        WatchKey key = watchKey;
        LockFile table = mutex.file();
        boolean isTried = table == watchTried && (key == null || key.isValid());
        if (waiting && table != null && !isTried) {
            // Kept until the last user has gone: coming and going with each wait would cost more than the needless
            // hints.
            watchKey = directoryWatch.watch(directory, this::changed);
            watchTried = table;
            if (key != null && key != watchKey) {
                directoryWatch.forget(key);
            }
        }
        presence = takenOrDropped(waiting, presence, place);
        lookout = takenOrDropped(waiting, lookout, LOOKOUT);
    }

    /** Takes a lock that is there already anew, for the reason that {@link SessionByte#enter} has. */
    private @Nullable FileLock takenOrDropped(boolean wanted, @Nullable FileLock current, long at) throws IOException {
        LockFile table = mutex.file();
        if (current != null && current.isValid()) {
            current.release();
        }
        return wanted && table != null ? table.tryLock(at, 1) : null;
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
        LockFile table = mutex.heldFile();
        return table.isLocked(LOOKOUT + 1, place - LOOKOUT - 1) || table.isLocked(place + 1, PLACES_END - place - 1);
    }

    /** Wakes the waiters of other processes. Under the mutex. */
    void wakeOtherProcesses() throws IOException {
        Path released = directory.resolve(DirectoryWatch.RELEASED);
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
        LockFile table = mutex.file();
        try {
            return table == null
                    || !table.isInPlace()
                    || SlotTable.readAll(table, 0).hasGivenBack();
        } catch (IOException e) {
            return true;
        }
    }

    /** Lets go of files; the last user of this process has gone. */
    void close() {
        WatchKey key = watchKey;
        if (key != null) {
            directoryWatch.forget(key);
        }
        watchers.clear();
        dropPresence();
        mutex.close();
    }
}
