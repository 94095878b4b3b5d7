package io.github.distributedsemaphore.tck.agent;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The main class of a client in a JVM of its own. Reads a request a line from standard input and writes an answer a line
 * to standard output, both JSON; requests are carried out at the same time, so that one may wait. When the input ends it
 * halts, so that it does not outlive the test.
 */
public final class TckAgent {
    private static final int ORPHANED = 3;

    /** What may make a client start threads, and ends by itself if it has no time to wait. */
    private static final Set<String> BRIEF = Set.of("connect", "create", "acquire");

    private final PrintStream out;
    private final AgentCommands commands = new AgentCommands();
    private final ExecutorService executor = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "tck-command");
        thread.setDaemon(true);
        return thread;
    });

    private TckAgent(PrintStream out) {
        this.out = out;
    }

    /**
     * Runs until the command to end, or until the input ends.
     *
     * @param args none
     * @throws IOException if the input cannot be read
     */
    public static void main(String[] args) throws IOException {
        PrintStream out = System.out;
        // Whatever a library prints must not get between the answers.
        System.setOut(System.err);
        new TckAgent(out).serve(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
    }

    private void serve(BufferedReader in) throws IOException {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonObject request = JsonParser.parseString(line).getAsJsonObject();
            String command = request.get("do").getAsString();
            if (command.equals("forget")) {
                // The main thread ends; only a thread of the client could keep the JVM alive now.
                return;
            }
            Runnable task = () -> carryOut(command, request);
            if (BRIEF.contains(command) && !request.has("wait")) {
                // As the main thread of an application: what a daemon starts is a daemon, and never keeps a JVM alive.
                new Thread(task, "tck-command").start();
            } else {
                executor.execute(task);
            }
        }
        Runtime.getRuntime().halt(ORPHANED);
    }

    private void carryOut(String command, JsonObject request) {
        JsonObject answer = new JsonObject();
        answer.add("id", request.get("id"));
        answer.addProperty("invoked", System.nanoTime());
        try {
            commands.carryOut(command, request, answer);
        } catch (Throwable e) {
            answer.addProperty("error", e.getClass().getName());
            answer.addProperty("message", String.valueOf(e.getMessage()));
        }
        if (!answer.has("returned")) {
            answer.addProperty("returned", System.nanoTime());
        }
        synchronized (out) {
            out.println(answer);
            out.flush();
        }
    }
}
