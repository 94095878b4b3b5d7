package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.nio.file.ClosedWatchServiceException;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls back when something comes or goes in a directory: on Linux by inotify, at once and without asking. One thread and
 * one inotify instance for all directories, from the first watch on; a user has only some hundred instances. Thread-safe.
 */
final class DirectoryWatch {
    private static final Logger LOG = LoggerFactory.getLogger(DirectoryWatch.class);

    /** Comes and goes to wake processes that watch the directory. */
    static final String RELEASED = "released";

    /** Whose coming and going counts; other files come and go with every create and resize. */
    private static final Set<String> TELLING = Set.of(RELEASED, LimitFile.NAME);

    private final ReentrantLock lock = new ReentrantLock();
    private final ConcurrentHashMap<WatchKey, Listener> hints = new ConcurrentHashMap<>();
    private @Nullable WatchService service;
    private boolean refused;
    private boolean closed;

    /** Is called when something came or went. */
    @FunctionalInterface
    interface Listener {
        /** Called on the watching thread; {@code releasedOnly} if nothing but a release can have happened. */
        void changed(boolean releasedOnly);
    }

    /** Starts to watch; null after the end, or if the system does not let us, and then the waiter depends on its timer. */
    @Nullable
    WatchKey watch(Path directory, Listener listener) {
        lock.lock();
        try {
            if (closed) {
                return null;
            }
            WatchService current = service;
            if (current == null) {
                current = directory.getFileSystem().newWatchService();
                start(current);
                service = current;
            }
            WatchKey key = directory.register(
                    current, StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_DELETE);
            hints.put(key, listener);
            return key;
        } catch (IOException | UnsupportedOperationException | ClosedWatchServiceException e) {
            if (!refused) {
                refused = true;
                LOG.warn("{} cannot be watched, so waiters ask again by a timer: {}", directory, e.toString());
            }
            return null;
        } finally {
            lock.unlock();
        }
    }

    private void start(WatchService watched) throws IOException {
        Thread thread = new Thread(() -> run(watched), "semaphore-local-watch");
        thread.setDaemon(true);
        try {
            thread.start();
        } catch (OutOfMemoryError e) {
            end(watched);
            throw new IOException("no thread could be started", e);
        }
    }

    /** Ends when the service is closed and at nothing else: every waiter of this process depends on it. */
    private void run(WatchService watched) {
        while (true) {
            try {
                tell(watched.take());
            } catch (ClosedWatchServiceException e) {
                return;
            } catch (InterruptedException e) {
                LOG.debug("an interrupt of the thread that watches directories is ignored", e);
            } catch (RuntimeException | Error e) {
                LOG.warn("a change of a directory was not reported; waiters ask by their timers", e);
            }
        }
    }

    private void tell(WatchKey key) {
        List<WatchEvent<?>> telling =
                key.pollEvents().stream().filter(DirectoryWatch::isTelling).toList();
        boolean gone = !key.reset();
        Listener listener = gone ? hints.remove(key) : hints.get(key);
        if (listener != null && (gone || !telling.isEmpty())) {
            listener.changed(!gone && telling.stream().allMatch(DirectoryWatch::isRelease));
        }
    }

    private static boolean isTelling(WatchEvent<?> event) {
        return event.kind() == StandardWatchEventKinds.OVERFLOW || TELLING.contains(String.valueOf(event.context()));
    }

    private static boolean isRelease(WatchEvent<?> event) {
        return event.kind() != StandardWatchEventKinds.OVERFLOW && RELEASED.equals(String.valueOf(event.context()));
    }

    void forget(WatchKey key) {
        hints.remove(key);
        key.cancel();
    }

    /** Ends the thread. A watch that begins now starts no other, which nobody would end. */
    void close() {
        lock.lock();
        try {
            closed = true;
            if (service != null) {
                end(service);
                service = null;
            }
        } finally {
            lock.unlock();
        }
    }

    private static void end(WatchService watched) {
        try {
            watched.close();
        } catch (IOException e) {
            LOG.debug("watching did not end in order", e);
        }
    }
}
