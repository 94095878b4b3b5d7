package io.github.distributedsemaphore.cli.live;

import io.github.distributedsemaphore.cli.common.Signals;
import io.github.distributedsemaphore.cli.common.Terminal;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.time.ZoneId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The terminal that this process was started from, taken over for a picture of the whole screen and for single keys.
 *
 * <p>A small shell with {@code stty} takes it over, waits for the end of a pipe that only this process can write to, and then
 * restores it. So the terminal is restored however this process ends.
 *
 * <p>Thread-safe.
 */
final class RawTerminal implements AutoCloseable {
    private static final String PATH = "/dev/tty";
    private static final Pattern UTF_8 = Pattern.compile(".*utf-?8.*", Pattern.CASE_INSENSITIVE);
    private static final long LONGEST_RESTORE_SECONDS = 2;
    private static final long LONGEST_FRAME_MILLIS = 200;

    /** Only the mode that it has set itself is replaced: a shell that came first has set its own. */
    private static final String GUARD = """
            trap '' INT HUP TERM QUIT TTOU TSTP
            before=$(stty -g </dev/tty) && stty -icanon -echo susp undef </dev/tty && ours=$(stty -g </dev/tty) || exit 1
            printf '\\033[?1049h\\033[?25l' >/dev/tty
            echo ready
            cat >/dev/null
            printf '\\033[0m\\033[?25h\\033[?1049l' >/dev/tty
            if [ "$(stty -g </dev/tty)" = "$ours" ]; then stty "$before" </dev/tty; fi
            """;

    private final Process guard;
    private final OutputStream out;
    private final Thread restorer = new Thread(this::restore, "semaphore-terminal");
    private final Signals.Registration resizes;
    private final ReentrantLock drawing = new ReentrantLock();
    private int height;
    private int width;
    private volatile boolean isClosed;

    private RawTerminal(Process guard, Runnable resized) throws IOException {
        this.guard = guard;
        this.out = new FileOutputStream(PATH);
        measure();
        this.resizes = Signals.handle("WINCH", () -> {
            measure();
            resized.run();
        });
        Runtime.getRuntime().addShutdownHook(restorer);
    }

    /**
     * Takes the terminal over.
     *
     * @param resized called on another thread after its size has changed
     * @return empty if standard output is no terminal, or one that cannot show a picture
     */
    static Optional<RawTerminal> open(Runnable resized) throws IOException {
        String kind = System.getenv("TERM");
        if (kind == null || kind.isEmpty() || kind.equals("dumb") || !isOutput()) {
            return Optional.empty();
        }
        Process guard = new ProcessBuilder("sh", "-c", GUARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        if (guard.inputReader(StandardCharsets.US_ASCII).readLine() == null) {
            return Optional.empty();
        }
        return Optional.of(new RawTerminal(guard, resized));
    }

    private static boolean isOutput() throws IOException {
        try {
            return new ProcessBuilder("test", "-t", "1").inheritIO().start().waitFor() == 0;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private synchronized void measure() {
        String[] size = size().split(" ", -1);
        boolean isKnown = size.length == 2 && !size[0].equals("0");
        height = isKnown ? Integer.parseInt(size[0]) : 24;
        width = isKnown ? Integer.parseInt(size[1]) : 80;
    }

    /** Lines and columns. */
    private static String size() {
        try {
            Process stty = new ProcessBuilder("stty", "size")
                    .redirectInput(new File(PATH))
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip();
        } catch (IOException e) {
            return "";
        }
    }

    /** Returns what draws for this terminal as it is now. */
    synchronized Picture picture() {
        return new Picture(
                width,
                height,
                charset().equals(StandardCharsets.UTF_8),
                System.getenv("NO_COLOR") == null,
                ZoneId.systemDefault());
    }

    /** By the environment, as for all programs of a terminal. Where {@code bin/semaphore} set LC_ALL, the user's counts. */
    private static Charset charset() {
        String users = System.getenv(Terminal.USERS_LOCALE);
        String all = users == null ? System.getenv("LC_ALL") : users.startsWith("=") ? users.substring(1) : "";
        return Stream.of(all, System.getenv("LC_CTYPE"), System.getenv("LANG"))
                        .filter(value -> value != null && !value.isEmpty())
                        .findFirst()
                        .filter(value -> UTF_8.matcher(value).matches())
                        .isPresent()
                ? StandardCharsets.UTF_8
                : StandardCharsets.US_ASCII;
    }

    Keys keys() throws IOException {
        return new Keys(new FileInputStream(PATH));
    }

    /** Shows lines in place of what the terminal shows; nothing after {@link #close}. Waits while the terminal is stopped. */
    void draw(List<String> lines) throws IOException {
        drawing.lock();
        try {
            if (!isClosed) {
                out.write(frame(lines).getBytes(charset()));
                out.flush();
            }
        } finally {
            drawing.unlock();
        }
    }

    /** Lines for the whole screen. Each is cleared before it is drawn: after one that fills it that would remove the last column. */
    static String frame(List<String> lines) {
        return "\u001b[H\u001b[K" + String.join("\n\u001b[K", lines);
    }

    private void restore() {
        isClosed = true;
        awaitFrame();
        try {
            guard.getOutputStream().close();
            boolean unused = guard.waitFor(LONGEST_RESTORE_SECONDS, TimeUnit.SECONDS);
        } catch (IOException e) {
            // The guard is gone. There is nobody left to report it to.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A frame that is under way would else be seen after the restoring. After Ctrl-S it is under way for as long as the user likes. */
    private void awaitFrame() {
        try {
            if (drawing.tryLock(LONGEST_FRAME_MILLIS, TimeUnit.MILLISECONDS)) {
                drawing.unlock();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Gives the terminal back as it was. */
    @Override
    public void close() {
        restore();
        resizes.close();
        try {
            boolean unused = Runtime.getRuntime().removeShutdownHook(restorer);
        } catch (IllegalStateException e) {
            // The JVM is about to end, and the hook has nothing left to do.
        }
    }
}
