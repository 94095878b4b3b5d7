package io.github.distributedsemaphore.local;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Which run of the kernel this is. What processes wrote in the same run is still there, also if they were killed and never
 * asked for it to be made lasting; what they wrote in an earlier run may have been lost with the machine's memory.
 */
final class BootId {
    /** Linux's number of this run; empty where there is none. */
    static final String CURRENT = read();

    private BootId() {}

    private static String read() {
        try {
            String id =
                    Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
            return id.matches("[0-9a-f-]{36}") ? id : "";
        } catch (IOException e) {
            return "";
        }
    }
}
