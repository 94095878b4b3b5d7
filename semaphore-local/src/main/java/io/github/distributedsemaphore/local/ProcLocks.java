package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;

/** Which process holds a file lock, and whether it runs at all: Linux shows that in {@code /proc}, other systems do not. */
final class ProcLocks {
    private static final Path PROC = Path.of("/proc");

    private ProcLocks() {}

    /** Returns the id of the process that has the lock on the file's first byte, if that is known. */
    static OptionalLong holder(Path file) {
        try {
            Object inode = Files.getAttribute(file, "unix:ino");
            return holder(Files.readAllLines(PROC.resolve("locks")), inode);
        } catch (IOException | IllegalArgumentException | UnsupportedOperationException e) {
            return OptionalLong.empty();
        }
    }

    /** Finds the process in lines such as {@code 1: POSIX ADVISORY WRITE 4242 fe:00:1234 0 0}. */
    static OptionalLong holder(List<String> locks, Object inode) {
        return locks.stream()
                .map(line -> line.strip().split("\\s+"))
                .filter(parts -> parts.length >= 8 && parts[5].endsWith(":" + inode) && parts[6].equals("0"))
                .mapToLong(parts -> Long.parseLong(parts[4]))
                .findFirst();
    }

    /** Tells whether a process is known to be stopped, by a signal or a debugger. */
    static boolean isStopped(long pid) {
        try {
            String stat = Files.readString(PROC.resolve(pid + "/stat"));
            // The state follows the name, which is in parentheses and may contain any.
            char state = stat.charAt(stat.lastIndexOf(')') + 2);
            return state == 'T' || state == 't';
        } catch (IOException | IndexOutOfBoundsException e) {
            return false;
        }
    }
}
