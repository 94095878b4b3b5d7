package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Who holds a file lock, for an error message: Linux tells in {@code /proc/locks}. */
final class ProcLocks {
    private static final Path LOCKS = Path.of("/proc/locks");

    private ProcLocks() {}

    static String holder(Path file) {
        try {
            Object inode = Files.getAttribute(file, "unix:ino");
            return holder(Files.readAllLines(LOCKS), inode);
        } catch (IOException | IllegalArgumentException | UnsupportedOperationException e) {
            return "another process";
        }
    }

    /** Finds the process in lines such as {@code 1: POSIX ADVISORY WRITE 4242 fe:00:1234 0 0}. */
    static String holder(List<String> locks, Object inode) {
        return locks.stream()
                .map(line -> line.strip().split("\\s+"))
                .filter(parts -> parts.length >= 8 && parts[5].endsWith(":" + inode) && parts[6].equals("0"))
                .map(parts -> "process " + parts[4])
                .findFirst()
                .orElse("another process");
    }
}
