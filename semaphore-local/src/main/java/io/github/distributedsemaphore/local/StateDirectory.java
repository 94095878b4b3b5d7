package io.github.distributedsemaphore.local;

import io.github.distributedsemaphore.BackendUnavailableException;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The directory that holds all semaphores, a directory each, and the counter that every epoch comes from. One for all
 * clients of this process that use it by the same path; two paths, by bind mounts, are as two class loaders.
 */
final class StateDirectory {
    /** How many epochs a semaphore draws at a time for each of its slots. */
    static final long BLOCK = 1L << 20;

    /** The highest block whose epochs can all be read again once they are stored. */
    private static final long HIGHEST_BLOCK = StoredText.HIGHEST_NUMBER / BLOCK - 1;

    /**
     * In so many milliseconds the clock counts a block. A busy slot uses up several blocks a second, and each draw waits for the disk.
     * The first block of a new directory is the clock's. The clock comes to the highest block in 2090.
     */
    private static final long BLOCK_MILLIS = 4;

    private static final String FORMAT = "format";
    private static final String EPOCHS = "epochs";

    /** The version of the whole. Files that are as they were in version 1 say so. */
    private static final int VERSION = 2;

    private static final int EPOCHS_VERSION = 1;
    private static final String MOVE =
            "use the version that wrote it, or another directory; or end all clients, note the limits,"
                    + " delete everything in the directory but the file '" + EPOCHS
                    + "', and create the semaphores again: then fences go on rising";

    /** The directories in use in this process, by their keys. */
    static final UseCounts<StateDirectory> IN_USE = new UseCounts<>();

    private final Path path;
    private final Object fileKey;
    /** Has the path too: a directory that is moved while it is in use is another one, as its users have the old path. */
    private final Object key;

    private final FileMutex mutex;
    private final DirectoryWatch watch = new DirectoryWatch();
    private volatile boolean formatKnown;

    private StateDirectory(Path path, Object fileKey) {
        this.path = path;
        this.fileKey = fileKey;
        this.key = key(path, fileKey);
        this.mutex = new FileMutex(path.resolve("mutex"));
    }

    /** Opens a directory that {@link StateDirectoryCheck} has found good; to be closed as often as opened. */
    static StateDirectory open(Path realPath) throws IOException {
        Object fileKey = PrivateFiles.key(realPath);
        return IN_USE.use(key(realPath, fileKey), () -> new StateDirectory(realPath, fileKey));
    }

    private static Object key(Path path, Object fileKey) {
        return List.of(path, fileKey);
    }

    /**
     * Looks, before the first use, whether this version knows the directory's format, and writes it where there is none.
     *
     * @throws io.github.distributedsemaphore.IncompatibleStateException if it does not
     */
    void requireFormat(Call call) throws IOException {
        if (!formatKnown) {
            call.requireWaiting();
            checkFormat(call);
            formatKnown = true;
        }
    }

    /** Without the mutex where the file is there, which is replaced as a whole: a crowd that starts up needs no queue. */
    private void checkFormat(Call call) throws IOException {
        if (isFormatStored()) {
            return;
        }
        lock(call);
        try {
            if (!isFormatStored()) {
                new StoredText(FORMAT, VERSION, Map.of()).store(path.resolve(FORMAT), call.shield());
            }
        } finally {
            mutex.unlock();
        }
    }

    private boolean isFormatStored() throws IOException {
        return StoredText.read(path.resolve(FORMAT), FORMAT, VERSION, MOVE).isPresent();
    }

    /** Looks whether the directory is still there, and of a known format. */
    void ping(Call call) throws IOException {
        requireFormat(call);
        if (!PrivateFiles.leadsTo(path, fileKey)) {
            throw removed();
        }
    }

    private NoSuchFileException removed() {
        return new NoSuchFileException(path.toString(), null, "the state directory was removed");
    }

    private void lock(Call call) throws IOException {
        if (!mutex.lock(call)) {
            throw removed();
        }
    }

    Path path() {
        return path;
    }

    /** Returns what messages call a semaphore. */
    String subject(String name) {
        return "Semaphore '" + name + "' in " + path;
    }

    /**
     * Returns what the clients of this process share about a semaphore; to be given back by {@link #release}. Until then this
     * directory is in use too: the watch has to last as long as what the next client may share.
     */
    SharedSemaphore use(String name) {
        if (!IN_USE.useAgain(key, this)) {
            throw new BackendUnavailableException("State directory " + path + ": the client has been closed", null);
        }
        String directory = LocalNames.encode(name);
        return SharedSemaphore.IN_USE.use(
                List.of(key, directory), () -> new SharedSemaphore(name, path.resolve(directory), watch));
    }

    void release(SharedSemaphore shared) {
        SharedSemaphore.IN_USE.release(
                List.of(key, String.valueOf(shared.directory().getFileName())), SharedSemaphore::close);
        close();
    }

    /** Returns the names of the semaphores, in no order. */
    List<String> names(Call call) throws IOException {
        requireFormat(call);
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(path)) {
            for (Path entry : entries) {
                Optional<String> name = LocalNames.decode(String.valueOf(entry.getFileName()));
                if (name.isPresent() && Files.exists(entry.resolve(LimitFile.NAME))) {
                    names.add(name.get());
                }
            }
        } catch (java.nio.file.DirectoryIteratorException e) {
            throw e.getCause();
        }
        return names;
    }

    /**
     * Draws a block of epochs. Blocks rise over all semaphores of the directory, so whoever draws one is above everything
     * that any slot has had, and a semaphore that is destroyed need leave nothing behind.
     *
     * @return the first epoch of the block; the draw lasts when this returns
     */
    long drawEpochs(Call call) throws IOException {
        lock(call);
        try {
            Path file = path.resolve(EPOCHS);
            String repair = "put back the file, or, if no fence of old counts any more, delete it; next is at most "
                    + HIGHEST_BLOCK;
            // A new directory begins at the clock. For long the disk does not let clients draw blocks faster
            // than the clock counts them. So the epochs of a directory that was deleted are lower.
            long block = StoredText.read(file, EPOCHS, EPOCHS_VERSION, repair)
                    .map(text -> text.number(file, "next", 0, HIGHEST_BLOCK, repair))
                    .orElseGet(() -> Instant.now().toEpochMilli() / BLOCK_MILLIS);
            new StoredText(EPOCHS, EPOCHS_VERSION, Map.of("next", block + 1)).store(file, call.shield());
            return block * BLOCK;
        } finally {
            mutex.unlock();
        }
    }

    void close() {
        IN_USE.release(key, StateDirectory::end);
    }

    private void end() {
        watch.close();
        mutex.close();
    }
}
