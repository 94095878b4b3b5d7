package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.LongPredicate;
import java.util.stream.Stream;

/** The holders and the waiting processes, in files that only their writer deletes: what a killed process wrote stays. Thread-safe. */
final class Marks {
    private static final String BETWEEN = "~";

    private final Path folder;
    private final String prefix;

    Marks(Path folder, String semaphore) {
        this.folder = folder;
        this.prefix = LocalNames.encode(semaphore) + BETWEEN;
    }

    /** What a process does at a semaphore. */
    enum Kind {
        HOLDS
    }

    void put(Kind kind, Object what) {
        try {
            PrivateFiles.createFile(file(kind, what));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void remove(Kind kind, Object what) {
        delete(file(kind, what));
    }

    private Path file(Kind kind, Object what) {
        return folder.resolve(prefix + kind + BETWEEN + ProcessHandle.current().pid() + BETWEEN + what);
    }

    /** Counts the marks of such processes. */
    int count(Kind kind, LongPredicate process) {
        return (int) names().stream()
                .map(name -> name.substring(prefix.length()).split(BETWEEN))
                .filter(parts -> parts[0].equals(kind.name()) && process.test(Long.parseLong(parts[1])))
                .count();
    }

    /** Deletes all marks of the semaphore, whoever wrote them. */
    void clear() {
        names().forEach(name -> delete(folder.resolve(name)));
    }

    private List<String> names() {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.startsWith(prefix))
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void delete(Path file) {
        try {
            Files.delete(file);
        } catch (NoSuchFileException e) {
            // It went with the semaphore.
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Also while it dies: its files are closed some time before the system calls it dead. */
    static boolean isElsewhere(long process) {
        return process != ProcessHandle.current().pid();
    }

    static boolean isDead(long process) {
        return ProcessHandle.of(process).filter(ProcessHandle::isAlive).isEmpty();
    }
}
