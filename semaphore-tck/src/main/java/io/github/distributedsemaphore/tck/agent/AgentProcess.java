package io.github.distributedsemaphore.tck.agent;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.github.distributedsemaphore.tck.harness.AgentLauncher;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** The JVM of an agent, with its lines in and out. Thread-safe. */
final class AgentProcess {
    /** What the kernel says of a process that was ended by SIGKILL. */
    private static final int KILLED = 137;

    private static final Duration END = Duration.ofSeconds(5);

    /** Those that have not been ended. A JVM that is told to end in the middle of a test leaves none behind, stopped ones neither. */
    private static final Set<AgentProcess> OPEN = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(AgentProcess::endAll, "tck-agents-tidying"));
    }

    private static void endAll() {
        // All are killed first, so that none is spared because another one makes trouble.
        OPEN.forEach(agent -> agent.process.destroyForcibly());
        OPEN.forEach(agent -> agent.end(END));
    }

    private final Process process;
    private final BufferedWriter in;
    private final Path complaints;
    private final AtomicLong ids = new AtomicLong();
    private final Map<Long, CompletableFuture<JsonObject>> pending = new ConcurrentHashMap<>();

    AgentProcess(AgentLauncher launcher) {
        List<String> command = new ArrayList<>(launcher.before());
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(launcher.jvmOptions());
        command.add(TckAgent.class.getName());
        try {
            complaints = Files.createTempFile("tck-agent", ".log");
            // For an agent that does not start, or does not end in time.
            complaints.toFile().deleteOnExit();
            ProcessBuilder builder = new ProcessBuilder(command).redirectError(complaints.toFile());
            builder.environment().put("CLASSPATH", launcher.classPath());
            process = builder.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        OPEN.add(this);
        in = process.outputWriter(StandardCharsets.UTF_8);
        Thread reader = new Thread(this::read, "tck-agent-" + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    private void read() {
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                answered(line);
            }
        } catch (IOException e) {
            // The process ended, which the next lines tell to all that wait.
        } finally {
            IOException ended = new IOException("agent " + process.pid() + " has ended");
            pending.values().forEach(waiting -> waiting.completeExceptionally(ended));
        }
    }

    private void answered(String line) {
        try {
            JsonObject answer = JsonParser.parseString(line).getAsJsonObject();
            CompletableFuture<JsonObject> waiting =
                    pending.remove(answer.getAsJsonPrimitive("id").getAsLong());
            if (waiting != null) {
                waiting.complete(answer);
            }
        } catch (JsonParseException | IllegalStateException | NullPointerException e) {
            // A JVM may say something of its own there, say in a thread dump.
            System.err.println(line);
        }
    }

    CompletableFuture<JsonObject> send(String command, JsonObject request) {
        long id = ids.incrementAndGet();
        request.addProperty("id", id);
        request.addProperty("do", command);
        CompletableFuture<JsonObject> answer = new CompletableFuture<>();
        pending.put(id, answer);
        try {
            write(request);
        } catch (IOException e) {
            pending.remove(id);
            throw new UncheckedIOException("agent " + process.pid() + " does not listen: " + complaints(), e);
        }
        if (!process.isAlive()) {
            answer.completeExceptionally(new IOException("agent " + process.pid() + " has ended: " + complaints()));
        }
        return answer;
    }

    /** Sends a command that has no answer. */
    void tell(String command) {
        JsonObject request = new JsonObject();
        request.addProperty("do", command);
        try {
            write(request);
        } catch (IOException e) {
            throw new UncheckedIOException("agent " + process.pid() + " does not listen: " + complaints(), e);
        }
    }

    private synchronized void write(JsonObject request) throws IOException {
        in.write(request + "\n");
        in.flush();
    }

    long pid() {
        return process.pid();
    }

    void kill9(Duration patience) {
        process.destroyForcibly();
        int status = awaitEnd(patience);
        if (status != KILLED) {
            throw new AssertionError("agent " + pid() + " ended with " + status + " where it was to be killed");
        }
    }

    int awaitEnd(Duration patience) {
        try {
            if (!process.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new AssertionError("agent " + pid() + " has not ended within " + patience + ": " + complaints());
            }
            return process.exitValue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }

    boolean isAlive() {
        return process.isAlive();
    }

    String complaints() {
        try {
            return Files.readString(complaints);
        } catch (IOException e) {
            return "";
        }
    }

    void hangUp() {
        try {
            in.close();
        } catch (IOException e) {
            // A pipe to a process that is gone: nothing is lost.
        }
    }

    void end(Duration patience) {
        process.destroyForcibly();
        awaitEnd(patience);
        OPEN.remove(this);
        hangUp();
        try {
            Files.deleteIfExists(complaints);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
