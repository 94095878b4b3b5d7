package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
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
 * clients of this process that use it.
 */
final class StateDirectory {
    /** How many epochs a semaphore draws at a time for each of its slots. */
    static final long BLOCK = 1L << 20;

    private static final String FORMAT = "format";
    private static final String EPOCHS = "epochs";
    private static final int VERSION = 1;

    private final Path path;
    private final Object key;
    private final FileMutex mutex;
    private final DirectoryWatch watch = new DirectoryWatch();
    private volatile boolean formatKnown;

    private StateDirectory(Path path, Object key) {
        this.path = path;
        this.key = key;
        this.mutex = new FileMutex(path.resolve("mutex"));
    }

    /** Opens a directory that {@link StateDirectoryCheck} has found good; to be closed as often as opened. */
    static StateDirectory open(Path realPath) throws IOException {
        Object key = PrivateFiles.key(realPath);
        return LockTable.STATES.use(key, () -> new StateDirectory(realPath, key));
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
        Path file = path.resolve(FORMAT);
        if (Files.exists(file)) {
            requireKnownFormat(file);
            return;
        }
        lock(call);
        try {
            if (Files.exists(file)) {
                requireKnownFormat(file);
            } else {
                String text = StoredText.write(FORMAT, VERSION, Map.of());
                PrivateFiles.replace(file, text.getBytes(StandardCharsets.ISO_8859_1), call.shield());
            }
        } finally {
            mutex.unlock();
        }
    }

    /** Looks whether the directory is still there, and of a known format. */
    void ping(Call call) throws IOException {
        requireFormat(call);
        if (!PrivateFiles.leadsTo(path, key)) {
            throw removed();
        }
    }

    private NoSuchFileException removed() {
        return new NoSuchFileException(path.toString(), null, "the state directory was removed");
    }

    private static void requireKnownFormat(Path file) throws IOException {
        String text = Files.readString(file, StandardCharsets.ISO_8859_1);
        if (StoredText.read(FORMAT, VERSION, text).isEmpty()) {
            throw StoredText.incompatible(
                    file, FORMAT, VERSION, text, "use the version that wrote it, or another directory");
        }
    }

    private void lock(Call call) throws IOException {
        if (!mutex.lock(call)) {
            throw removed();
        }
    }

    Path path() {
        return path;
    }

    DirectoryWatch watch() {
        return watch;
    }

    /** Returns what the clients of this process share about a semaphore; to be given back by {@link #release}. */
    SharedSemaphore use(String name) {
        String directory = LocalNames.encode(name);
        return LockTable.SEMAPHORES.use(
                List.of(key, directory), () -> new SharedSemaphore(name, path.resolve(directory), watch));
    }

    void release(SharedSemaphore shared) {
        LockTable.SEMAPHORES.release(
                List.of(key, String.valueOf(shared.directory().getFileName())), SharedSemaphore::close);
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
            long block = nextBlock(file);
            String text = StoredText.write(EPOCHS, VERSION, Map.of("next", block + 1));
            PrivateFiles.replace(file, text.getBytes(StandardCharsets.ISO_8859_1), call.shield());
            return block * BLOCK;
        } finally {
            mutex.unlock();
        }
    }

    private static long nextBlock(Path file) throws IOException {
        String text;
        try {
            text = Files.readString(file, StandardCharsets.ISO_8859_1);
        } catch (NoSuchFileException e) {
            // Where somebody removed the whole state, epochs go on above those of old: time has passed, and faster than
            // a block a second nobody draws for long.
            return Instant.now().getEpochSecond();
        }
        long next = StoredText.read(EPOCHS, VERSION, text)
                .map(values -> values.number("next"))
                .orElse(-1L);
        if (next < 0) {
            throw StoredText.incompatible(
                    file,
                    EPOCHS,
                    VERSION,
                    text,
                    "put back the file, or, if no fence of old counts any more, delete it");
        }
        return next;
    }

    void close() {
        LockTable.STATES.release(key, StateDirectory::end);
    }

    private void end() {
        watch.close();
        mutex.close();
    }
}
