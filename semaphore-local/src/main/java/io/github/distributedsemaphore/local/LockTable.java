package io.github.distributedsemaphore.local;

import java.io.RandomAccessFile;
import java.security.SecureRandom;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What all clients of this process must know of each other, under whichever spelling of its path they use a directory:
 * which slot files are open, and which client uses which semaphore. Device and inode identify a file.
 *
 * <p>The library may be loaded several times in one process, by several class loaders, and then there are several of these
 * tables. They know of each other's holds by {@link #PROCESS}, which is stored beside each hold.
 */
final class LockTable {
    /** The state directories in use, by their file keys. */
    static final UseCounts<StateDirectory> STATES = new UseCounts<>();

    /** The semaphores in use, by the file key of their state directory and the name of their own. */
    static final UseCounts<SharedSemaphore> SEMAPHORES = new UseCounts<>();

    private static final String PROCESS_PROPERTY = "io.github.distributedsemaphore.local.process";

    /** A number for this process, the same under all its class loaders. */
    static final int PROCESS = processNumber();

    private static final ConcurrentHashMap<Object, Optional<SlotFile>> OPEN = new ConcurrentHashMap<>();
    private static final ConcurrentHashMap<Object, RandomAccessFile> KEPT_OPEN = new ConcurrentHashMap<>();

    private LockTable() {}

    private static int processNumber() {
        int random = new SecureRandom().nextInt(1, Integer.MAX_VALUE);
        Object first = System.getProperties().putIfAbsent(PROCESS_PROPERTY, Integer.toHexString(random));
        return first instanceof String text ? Integer.parseInt(text, 16) : random;
    }

    /** Reserves a slot file for opening; false if this process has it open already. */
    static boolean claim(Object key) {
        return OPEN.putIfAbsent(key, Optional.empty()) == null;
    }

    static void unclaim(Object key) {
        if (!KEPT_OPEN.containsKey(key)) {
            OPEN.remove(key);
        }
    }

    static void opened(Object key, SlotFile file) {
        OPEN.put(key, Optional.of(file));
    }

    static void closed(Object key, SlotFile file) {
        OPEN.remove(key, Optional.of(file));
    }

    /** Returns the slot file with that key if a client of this table holds it. */
    static Optional<SlotFile> held(Object key) {
        return OPEN.getOrDefault(key, Optional.empty());
    }

    /**
     * Keeps a file open until the process ends: it turned out to be locked by a client under another class loader, and
     * closing it would end that lock.
     */
    static void keepOpen(Object key, RandomAccessFile file) {
        KEPT_OPEN.put(key, file);
    }

    /** Returns how many slot files this process has open. */
    static int openSlots() {
        return OPEN.size();
    }
}
