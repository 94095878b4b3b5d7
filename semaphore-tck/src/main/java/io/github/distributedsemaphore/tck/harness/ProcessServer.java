package io.github.distributedsemaphore.tck.harness;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A server of the tests' own: a process with a folder for its data and for what it says. It is started, killed, wiped and started
 * again. What a product needs beyond that is its command line and a way to see that it serves. Not thread-safe.
 */
public final class ProcessServer implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(110);
    private static final int LOOK_MILLIS = 20;
    /** The exit status of a process that SIGKILL has ended. */
    private static final int KILLED = 128 + 9;

    /** Those that are not closed. */
    private static final Set<ProcessServer> OPEN = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(ProcessServer::closeAll, "servers-tidying"));
    }

    private static void closeAll() {
        // All are killed first, so that none is spared because another one makes trouble.
        OPEN.stream()
                .filter(ProcessServer::isRunning)
                .forEach(server -> server.family().forEach(ProcessHandle::destroyForcibly));
        OPEN.forEach(ProcessServer::close);
    }

    private final String product;
    private final Path folder;
    private final Map<String, String> environment = new TreeMap<>();
    private volatile @Nullable Process process;

    /**
     * Makes a folder for a server, and starts nothing.
     *
     * @param product what messages call it
     */
    public ProcessServer(String product) {
        this(product, temporaryFolder(product));
    }

    /**
     * Takes a folder for a server, and starts nothing.
     *
     * @param product what messages call it
     * @param folder its folder; is made if it is not there, and removed by {@link #close}
     */
    public ProcessServer(String product, Path folder) {
        this.product = product;
        this.folder = folder;
        try {
            Files.createDirectories(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        OPEN.add(this);
    }

    private static Path temporaryFolder(String product) {
        try {
            return Files.createTempDirectory("semaphore-" + product.toLowerCase(Locale.ROOT));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Returns its folder.
     *
     * @return the folder, which is there until the server is closed
     */
    public Path folder() {
        return folder;
    }

    /**
     * Returns the folder of its data, which {@link #wipe} removes.
     *
     * @return a folder that is there only if somebody made it
     */
    public Path data() {
        return folder.resolve("data");
    }

    /**
     * Returns what is added to the environment of all that is started here.
     *
     * @return a map to put into
     */
    public Map<String, String> environment() {
        return environment;
    }

    /**
     * Starts it, again too, and waits until it serves.
     *
     * @param command its command line
     * @param serves whether it serves; is asked every 20 ms
     * @throws IllegalStateException with what the server said, if it ends or does not serve within 110 s
     * @throws UncheckedIOException if there is no such command
     */
    public void start(List<String> command, BooleanSupplier serves) {
        if (isRunning()) {
            throw new IllegalStateException(product + " runs already");
        }
        Process started = begin(command);
        process = started;
        long begin = System.nanoTime();
        while (!serves.getAsBoolean()) {
            if (!started.isAlive() || System.nanoTime() - begin > PATIENCE.toNanos()) {
                started.destroyForcibly();
                throw new IllegalStateException(product + " did not start: " + log());
            }
            pause();
        }
    }

    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /**
     * Starts a process beside the server, in its folder and its environment. What it says goes to the server's log.
     *
     * @param command its command line
     * @return the process, which is the caller's to end
     * @throws UncheckedIOException if there is no such command
     */
    public Process begin(List<String> command) {
        try {
            return builder(command)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(logFile().toFile()))
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private ProcessBuilder builder(List<String> command) {
        ProcessBuilder builder =
                new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
        builder.environment().putAll(environment);
        return builder;
    }

    /**
     * Runs a tool to its end.
     *
     * @param command its command line
     * @param input what it reads
     * @return what it said
     * @throws IllegalStateException with what it said, if it fails
     */
    public String run(List<String> command, String input) {
        try {
            Process tool = builder(command).start();
            try (OutputStream in = tool.getOutputStream()) {
                in.write(input.getBytes(StandardCharsets.UTF_8));
            }
            String said = new String(tool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (tool.waitFor() != 0) {
                throw new IllegalStateException(command + " failed: " + said);
            }
            return said;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /**
     * Tells whether its process is there.
     *
     * @return true from {@link #start} until it ends
     */
    public boolean isRunning() {
        Process last = process;
        return last != null && last.isAlive();
    }

    /**
     * Returns its process, of the last start.
     *
     * @return the process
     * @throws IllegalStateException if it was never started
     */
    public Process process() {
        Process last = process;
        if (last == null) {
            throw new IllegalStateException(product + " was not started");
        }
        return last;
    }

    /**
     * Returns its process and those that it has started.
     *
     * @return their ids
     */
    public List<Long> processes() {
        return family().stream().map(ProcessHandle::pid).toList();
    }

    private List<ProcessHandle> family() {
        return Stream.concat(Stream.of(process().toHandle()), process().descendants())
                .toList();
    }

    /** Ends it in order, with SIGTERM, and waits until it has ended. */
    public void stop() {
        stop("TERM");
    }

    /**
     * Ends it by a signal, and waits until it has ended.
     *
     * @param signal such as {@code INT}
     */
    public void stop(String signal) {
        run(List.of("sh", "-c", "kill -s " + signal + " " + process().pid()), "");
        awaitExit();
    }

    /**
     * Ends it and what it has started with SIGKILL, and waits until all have ended.
     *
     * @throws IllegalStateException if it had ended otherwise before
     */
    public void kill() {
        destroy();
        int status = process().exitValue();
        if (status != KILLED) {
            throw new IllegalStateException(product + " ended with " + status + " where it was to be killed: " + log());
        }
    }

    private void destroy() {
        List<ProcessHandle> all = family();
        all.forEach(ProcessHandle::destroyForcibly);
        all.forEach(one -> awaitEnd(one.pid(), one::isAlive));
        awaitExit();
    }

    /** Its handle knows of its end a moment before the process itself, which {@link #start} asks. */
    private void awaitExit() {
        awaitEnd(process().pid(), process()::isAlive);
    }

    private void awaitEnd(long pid, BooleanSupplier isAlive) {
        long begin = System.nanoTime();
        while (isAlive.getAsBoolean()) {
            if (System.nanoTime() - begin > PATIENCE.toNanos()) {
                throw new IllegalStateException(product + ", process " + pid + ", does not end: " + log());
            }
            pause();
        }
    }

    /**
     * Removes the data of a server that does not run.
     *
     * @throws IllegalStateException if it runs
     */
    public void wipe() {
        if (isRunning()) {
            throw new IllegalStateException("stop " + product + " before its data are removed");
        }
        delete(data());
    }

    private Path logFile() {
        return folder.resolve("log");
    }

    /**
     * Returns what the server has said, and processes beside it.
     *
     * @return all since the first start
     */
    public String log() {
        try {
            return Files.readString(logFile());
        } catch (IOException e) {
            return "it said nothing, " + e;
        }
    }

    /** Kills it if it runs, and removes its folder. The end of this JVM does so too, unless it is killed. */
    @Override
    public void close() {
        OPEN.remove(this);
        if (isRunning()) {
            destroy();
        }
        delete(folder);
    }

    /**
     * Removes a folder and all that is in it. Others may remove from it at the same time.
     *
     * @param folder the folder, which may be absent
     */
    public static void delete(Path folder) {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (NoSuchFileException e) {
            // It went meanwhile, as was wanted. What is left is looked for anew.
            delete(folder);
        } catch (UncheckedIOException e) {
            // A walk says so of a folder that went.
            if (!(e.getCause() instanceof NoSuchFileException)) {
                throw e;
            }
            delete(folder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Says a word to a server, past every client library.
     *
     * @param port its port of the loopback address
     * @param word what to say
     * @return the first byte of its answer within a second, or -1 if there is none
     */
    public static int answer(int port, String word) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(1_000);
            socket.getOutputStream().write(word.getBytes(StandardCharsets.US_ASCII));
            return socket.getInputStream().read();
        } catch (IOException e) {
            return -1;
        }
    }
}
