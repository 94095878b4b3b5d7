package io.github.distributedsemaphore.cli.demo;

import com.google.gson.JsonParseException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/** The demonstration's side of a worker. For one thread, but for the events, which come on one of their own. */
final class WorkerProcess {
    private final int number;
    private final Process process;
    private final Thread reader;

    private WorkerProcess(int number, Process process, BiConsumer<Integer, WorkerEvent> events) {
        this.number = number;
        this.process = process;
        this.reader = new Thread(() -> readEvents(events), "worker-" + number);
        reader.setDaemon(true);
        reader.start();
    }

    /**
     * Starts a worker.
     *
     * @param number what it is called in events, from 1
     * @param backend the backend's URI
     * @param semaphore the name of the semaphore
     * @param events told of everything the worker says, in order
     */
    static WorkerProcess start(int number, String backend, String semaphore, BiConsumer<Integer, WorkerEvent> events)
            throws IOException {
        ProcessBuilder builder = new ProcessBuilder(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xshare:auto",
                "-Xmx64m",
                "-classpath",
                System.getProperty("java.class.path"),
                WorkerCommand.class.getName(),
                "demo-worker",
                semaphore));
        // Not as an argument: the URI may hold a password.
        builder.environment().put("SEMAPHORE_BACKEND", backend);
        builder.redirectError(ProcessBuilder.Redirect.INHERIT);
        return new WorkerProcess(number, builder.start(), events);
    }

    private void readEvents(BiConsumer<Integer, WorkerEvent> events) {
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                // Its JVM may print lines as well, as with -Xlog:gc.
                if (line.startsWith("{")) {
                    events.accept(number, WorkerEvent.fromJson(line));
                }
            }
        } catch (IOException | JsonParseException e) {
            // The worker was killed in the middle of a line, or its pipe was closed under the reader: no more events.
            return;
        }
    }

    int number() {
        return number;
    }

    long pid() {
        return process.pid();
    }

    boolean isAlive() {
        return process.isAlive();
    }

    void order(String order) {
        try {
            process.getOutputStream().write((order + "\n").getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        } catch (IOException e) {
            throw new UncheckedIOException("worker " + number + " ended by itself", e);
        }
    }

    /** Kills the worker as {@code kill -9} does, and returns once it is dead and all that it wrote has been passed on. */
    void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor();
        reader.join();
    }

    /** Asks the worker to give back what it has and to end. Returns at once. */
    void askToEnd() {
        try {
            process.getOutputStream().close();
        } catch (IOException e) {
            // Dead already.
            process.destroyForcibly();
        }
    }

    /** Returns once the worker has ended; kills it when the time is over. */
    void awaitEnd(long seconds) throws InterruptedException {
        if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
            kill();
        }
        reader.join();
    }
}
