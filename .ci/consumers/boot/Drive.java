import java.io.File;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

/** Starts a Redis server and three processes of the application, and calls them all at once. */
class Drive {
    private static final int PROCESSES = 3;
    private static final int CALLS_EACH = 6;
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    public static void main(String[] args) throws Exception {
        List<Process> processes = new ArrayList<>();
        try {
            int redis = freePort();
            processes.add(start("redis", "redis-server", "--port", "" + redis, "--bind", "127.0.0.1", "--save", ""));
            List<Integer> ports = new ArrayList<>();
            for (int i = 0; i < PROCESSES; i++) {
                int port = freePort();
                ports.add(port);
                processes.add(start(
                        "application" + i,
                        System.getProperty("java.home") + "/bin/java",
                        "-XX:TieredStopAtLevel=1",
                        "-jar",
                        args[0],
                        "--server.address=127.0.0.1",
                        "--server.port=" + port,
                        "--distributed-semaphore.uri=redis://127.0.0.1:" + redis));
            }
            for (int port : ports) {
                awaitHealth(port);
            }
            checkCalls(ports);
            checkMeters(ports);
        } finally {
            processes.forEach(Process::destroyForcibly);
            for (Process process : processes) {
                process.waitFor();
            }
        }
    }

    private static Process start(String name, String... command) throws Exception {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(new File(name + ".log"))
                .start();
    }

    private static int freePort() throws Exception {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    private static void awaitHealth(int port) throws Exception {
        long start = System.nanoTime();
        String health = "no answer";
        while (System.nanoTime() - start < 60_000_000_000L) {
            try {
                health = get(port, "/actuator/health").get();
            } catch (java.util.concurrent.ExecutionException e) {
                health = e.getMessage();
            }
            if (health.contains("\"distributedSemaphore\":{\"status\":\"UP\"}")) {
                return;
            }
            Thread.sleep(200);
        }
        throw new IllegalStateException("health after 60 s: " + health);
    }

    /** Each answer is a slot and when the work began and ended, by the one clock of this machine. */
    private static void checkCalls(List<Integer> ports) throws Exception {
        List<CompletableFuture<String>> calls = new ArrayList<>();
        for (int i = 0; i < CALLS_EACH; i++) {
            ports.forEach(port -> calls.add(get(port, "/export")));
        }
        Set<String> slots = new TreeSet<>();
        TreeMap<Long, Integer> changes = new TreeMap<>();
        for (CompletableFuture<String> call : calls) {
            String[] answer = call.get().split(" ");
            slots.add(answer[0]);
            changes.merge(Long.parseLong(answer[1]), 1, Integer::sum);
            changes.merge(Long.parseLong(answer[2]), -1, Integer::sum);
        }
        int running = 0;
        int most = 0;
        for (int change : changes.values()) {
            running += change;
            most = Math.max(most, running);
        }
        System.out.println(calls.size() + " calls in " + PROCESSES + " JVMs, at most " + most + " at once, in slots " + slots);
        if (most != 3) {
            throw new IllegalStateException("not at most three at once");
        }
    }

    private static void checkMeters(List<Integer> ports) throws Exception {
        for (int port : ports) {
            String meter = get(port, "/actuator/metrics/distributed.semaphore.acquire?tag=outcome:granted").get();
            if (!meter.contains("{\"statistic\":\"COUNT\",\"value\":" + CALLS_EACH + ".0}")) {
                throw new IllegalStateException("the meter of " + CALLS_EACH + " acquires is: " + meter);
            }
        }
        System.out.println("each JVM shows its meters and its health");
    }

    private static CompletableFuture<String> get(int port, String path) {
        return HTTP.sendAsync(
                        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build(),
                        BodyHandlers.ofString())
                .thenApply(response -> response.body());
    }
}
