package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.spi.InterruptShield;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * One wait for the first byte of a file. The operating system's wait ends by no time-out, and an interrupt would close the
 * file, so a thread of its own waits, and gives the lock back if nobody wants it any more.
 */
final class LockWait {
    private final CompletableFuture<FileLock> result = new CompletableFuture<>();

    LockWait(RandomAccessFile file) {
        Thread thread = new Thread(() -> waitForIt(file), "semaphore-local-mutex");
        thread.setDaemon(true);
        thread.start();
    }

    private void waitForIt(RandomAccessFile file) {
        try {
            FileLock lock = file.getChannel().lock(0, 1, false);
            if (!result.complete(lock)) {
                lock.release();
            }
        } catch (IOException | RuntimeException e) {
            result.completeExceptionally(e);
        }
    }

    /**
     * Returns the lock; null if it was not to be had until then, and the wait goes on.
     *
     * @throws OverlappingFileLockException if another wait of this process for the same file is still under way
     */
    @Nullable
    FileLock await(long deadline, InterruptShield shield) throws IOException {
        while (true) {
            try {
                return result.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
            } catch (InterruptedException e) {
                shield.absorb(e);
            } catch (TimeoutException e) {
                return null;
            } catch (ExecutionException e) {
                throw failure(e.getCause());
            }
        }
    }

    /** Ends the wait. Returns the lock if it came at the last moment, else null. */
    @Nullable
    FileLock giveUp() throws IOException {
        if (result.cancel(false)) {
            return null;
        }
        try {
            return result.join();
        } catch (CompletionException e) {
            throw failure(e.getCause());
        }
    }

    private static IOException failure(@Nullable Throwable cause) {
        if (cause instanceof OverlappingFileLockException overlapping) {
            throw overlapping;
        }
        return cause instanceof IOException io ? io : new IOException("waiting for a file lock failed", cause);
    }
}
