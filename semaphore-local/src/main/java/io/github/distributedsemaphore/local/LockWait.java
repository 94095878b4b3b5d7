package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.support.InterruptShield;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * A process's place in the operating system's queue for the first byte of a file. The operating system's wait ends by no
 * time-out, and an interrupt would close the file, so a thread of its own waits. It waits on while nobody awaits it, since
 * the JVM lets one thread at a time wait for a lock; a lock that comes then is given back at once.
 */
final class LockWait {
    private final Object monitor = new Object();
    private @Nullable CompletableFuture<FileLock> wanted;
    private boolean over;

    LockWait(RandomAccessFile file) {
        Thread thread = new Thread(() -> waitForIt(file), "semaphore-local-mutex");
        thread.setDaemon(true);
        thread.start();
    }

    private void waitForIt(RandomAccessFile file) {
        try {
            FileLock lock = file.getChannel().lock(0, 1, false);
            CompletableFuture<FileLock> taker = end();
            if (taker == null || !taker.complete(lock)) {
                lock.release();
            }
        } catch (IOException | RuntimeException e) {
            CompletableFuture<FileLock> taker = end();
            if (taker != null) {
                taker.completeExceptionally(e);
            }
        }
    }

    private @Nullable CompletableFuture<FileLock> end() {
        synchronized (monitor) {
            over = true;
            return wanted;
        }
    }

    /** Tells whether it has ended: the lock came, and was handed over or given back, or there was an error. */
    boolean isOver() {
        synchronized (monitor) {
            return over;
        }
    }

    /**
     * Returns the lock; null if it did not come in time, and the wait goes on, or if it came while nobody awaited it. For one
     * thread at a time.
     *
     * @throws OverlappingFileLockException if a copy of this library under another class loader has the lock or waits for it
     */
    @Nullable
    FileLock await(long nanos, InterruptShield shield) throws IOException {
        CompletableFuture<FileLock> mine = new CompletableFuture<>();
        synchronized (monitor) {
            if (over) {
                return null;
            }
            wanted = mine;
        }
        long end = System.nanoTime() + nanos;
        while (true) {
            try {
                return mine.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                shield.absorb(e);
            } catch (TimeoutException e) {
                // Where this fails, it came at the last moment.
                if (mine.cancel(false)) {
                    return null;
                }
            } catch (ExecutionException e) {
                throw failure(e.getCause());
            }
        }
    }

    private static IOException failure(@Nullable Throwable cause) {
        if (cause instanceof OverlappingFileLockException overlapping) {
            throw overlapping;
        }
        return cause instanceof IOException io ? io : new IOException("waiting for a file lock failed", cause);
    }
}
