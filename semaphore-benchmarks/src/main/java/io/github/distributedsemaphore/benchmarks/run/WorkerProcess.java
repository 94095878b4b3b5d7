package io.github.distributedsemaphore.benchmarks.run;

import com.google.gson.Gson;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.RunSettings;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The runner's end of a worker: a JVM of its own. For one thread. */
final class WorkerProcess implements AutoCloseable {
    private static final long PATIENCE_SECONDS = 90;

    private final int number;
    private final Process process;
    private final PrintWriter orders;
    private final BlockingQueue<Answer> answers = new LinkedBlockingQueue<>();
    private final Gson gson = new Gson();

    WorkerProcess(int number, RunSettings settings) {
        this.number = number;
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(settings.workerOptions());
        command.addAll(List.of(
                "-classpath",
                System.getProperty("java.class.path"),
                settings.workerMain().getName(),
                "worker"));
        try {
            process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
        } catch (IOException e) {
            throw new BrokenRunException("A worker could not be started", e);
        }
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        orders = new PrintWriter(process.getOutputStream(), true, StandardCharsets.UTF_8);
        Thread reader = new Thread(this::read, "worker-" + number);
        reader.setDaemon(true);
        reader.start();
    }

    private void read() {
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                // The JVM itself may have something to say, for one when it is profiled.
                if (line.startsWith("{")) {
                    answers.add(gson.fromJson(line, Answer.class));
                }
            }
            answers.add(new Answer("it ended", null));
        } catch (IOException e) {
            answers.add(Answer.failed(e));
        }
    }

    int number() {
        return number;
    }

    void tell(Order order) {
        orders.println(gson.toJson(order));
    }

    /** Waits for the answer to the oldest order that has none yet. */
    Answer await(long atLeastMillis) {
        try {
            Answer answer =
                    answers.poll(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS) + atLeastMillis, TimeUnit.MILLISECONDS);
            if (answer == null) {
                throw new BrokenRunException("worker " + number + " did not answer within " + PATIENCE_SECONDS + " s");
            }
            if (answer.failure() != null) {
                throw new BrokenRunException("worker " + number + ": " + answer.failure());
            }
            return answer;
        } catch (InterruptedException e) {
            throw new BrokenRunException("The runner was interrupted", e);
        }
    }

    @Override
    public void close() {
        orders.close();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
