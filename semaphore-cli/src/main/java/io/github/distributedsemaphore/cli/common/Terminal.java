package io.github.distributedsemaphore.cli.common;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;

/** What is to be known about the terminal that this process was started from, if any. */
public final class Terminal {
    /**
     * In the environment if {@code bin/semaphore} gave this JVM another locale than the user's: a = and what LC_ALL was, or
     * "none". Then the terminal is one without a character set.
     */
    public static final String USERS_LOCALE = "SEMAPHORE_USERS_LC_ALL";

    private static final Path OWN_STAT = Path.of("/proc/self/stat");

    private static final String CLEAR_LINE = "\r\u001b[K";
    private static final String NO_WRAP = "\u001b[?7l";
    private static final String WRAP = "\u001b[?7h";
    private static final int COLUMNS = 79;

    private Terminal() {}

    /** Returns a text in which nothing commands a terminal or begins a line, whatever a name or a label holds. */
    public static String clean(String text) {
        return text.replaceAll("[\\p{Cc}\\p{Cf}\\u2028\\u2029]", "?");
    }

    /** Puts a text in place of the line that the cursor is in, as far as it fits. */
    public static void replaceLine(PrintWriter terminal, String text) {
        String line = clean(text);
        terminal.print(CLEAR_LINE + inOneLine(line.length() <= COLUMNS ? line : line.substring(0, COLUMNS)));
        terminal.flush();
    }

    /**
     * Returns a text of which a terminal that is too narrow shows only a part. What wraps is two lines, and the first of them
     * could not be drawn over.
     */
    public static String inOneLine(String text) {
        return NO_WRAP + text + WRAP;
    }

    /** Tells whether this process is in the group that gets the terminal's Ctrl-C; false where there is no Linux to ask. */
    public static boolean isForeground() {
        try {
            return isForeground(Files.readString(OWN_STAT));
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Tells whether a terminal that can remove a line shows what goes to standard error; false where there is no Linux to ask.
     */
    public static boolean takesErrors() {
        if ("dumb".equals(System.getenv("TERM"))) {
            return false;
        }
        try {
            String target = Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString();
            return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty");
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Reads it from a line of Linux's {@code /proc/PID/stat}, see proc(5): after the name in parentheses, which may hold
     * anything, come state, parent, process group, session, terminal and the terminal's foreground group.
     */
    static boolean isForeground(String stat) {
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
        return fields[2].equals(fields[5]);
    }
}
