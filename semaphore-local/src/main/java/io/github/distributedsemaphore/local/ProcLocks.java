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
            long device = (Long) Files.getAttribute(file, "unix:dev");
            String place = place(device, Files.getAttribute(file, "unix:ino"));
            return holder(
                    Files.readAllLines(PROC.resolve("locks")),
                    place,
                    ProcessHandle.current().pid());
        } catch (IOException | IllegalArgumentException | UnsupportedOperationException e) {
            return OptionalLong.empty();
        }
    }

    /** Writes a file's device and inode as Linux does there. */
    static String place(long device, Object inode) {
        long major = ((device >>> 8) & 0xfff) | ((device >>> 32) & 0xfffff000L);
        long minor = (device & 0xff) | ((device >>> 12) & 0xffffff00L);
        return String.format("%02x:%02x:%s", major, minor, inode);
    }

    /**
     * Finds the process in lines such as {@code 1: POSIX ADVISORY WRITE 4242 fe:00:1234 0 0}. On some file systems, such as btrfs,
     * the device there is another than that of the file. Then the lock is meant for which this process waits, in a line such as
     * {@code 1: -> POSIX ADVISORY WRITE 4243 00:1f:1234 0 0}.
     */
    static OptionalLong holder(List<String> locks, String place, long self) {
        String inode = place.substring(place.lastIndexOf(':'));
        List<String[]> lines =
                locks.stream().map(line -> line.strip().split("\\s+")).toList();
        return lines.stream()
                .filter(parts -> parts.length >= 8 && parts[1].equals("POSIX") && parts[6].equals("0"))
                .filter(parts ->
                        parts[5].equals(place) || (parts[5].endsWith(inode) && isWaitedFor(parts, lines, self)))
                .mapToLong(parts -> Long.parseLong(parts[4]))
                .findFirst();
    }

    private static boolean isWaitedFor(String[] lock, List<String[]> lines, long self) {
        return lines.stream()
                .anyMatch(parts -> parts.length >= 9
                        && parts[0].equals(lock[0])
                        && parts[1].equals("->")
                        && parts[5].equals(Long.toString(self)));
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
