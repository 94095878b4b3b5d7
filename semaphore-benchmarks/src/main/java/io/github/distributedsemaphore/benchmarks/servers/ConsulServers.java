package io.github.distributedsemaphore.benchmarks.servers;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.distributedsemaphore.benchmarks.cells.BrokenRunException;
import io.github.distributedsemaphore.benchmarks.cells.ServerUse;
import io.github.distributedsemaphore.tck.harness.ProcessServer;
import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Consul of our own: an agent in development mode, which keeps everything in memory, or three servers with their data on disk. */
public final class ConsulServers implements MeasuredServer {
    private static final int PORTS = 4;

    private final HttpClient http = HttpClient.newHttpClient();
    private final List<ProcessServer> processes = new ArrayList<>();
    private final List<Integer> ports;
    private final boolean durable;

    public ConsulServers(Path folder, int size) {
        this(folder, size, size > 1);
    }

    /**
     * Starts them.
     *
     * @param folder for their files
     * @param size how many
     * @param durable whether they store anything; if not, a single one runs in development mode
     */
    public ConsulServers(Path folder, int size, boolean durable) {
        this.durable = durable;
        ports = FreePorts.choose(PORTS * size);
        for (int i = 0; i < size; i++) {
            processes.add(new ProcessServer("Consul", folder.resolve("consul-" + port(i, 0))));
        }
        start();
    }

    private void start() {
        int size = processes.size();
        for (int i = 0; i < size; i++) {
            ProcessServer server = processes.get(i);
            // None serves before there is a leader, and no leader before all are there.
            boolean isLast = i == size - 1;
            MeasuredServer.start(
                    server,
                    command(i, durable ? server(server.data(), i, size) : development()),
                    () -> !isLast || IntStream.range(0, size).allMatch(this::answers),
                    "Debian, as root: .ci/install-consul");
        }
    }

    @Override
    public void restart() {
        processes.forEach(ProcessServer::stop);
        start();
    }

    private static List<String> development() {
        return List.of("-dev", "-node", "bench");
    }

    private List<String> server(Path data, int number, int size) {
        List<String> options = new ArrayList<>(List.of("-server", "-bootstrap-expect", Integer.toString(size)));
        options.addAll(List.of("-node", "bench" + number, "-retry-interval", "1s"));
        options.addAll(List.of("-data-dir", data.toString()));
        for (int other = 0; other < size; other++) {
            options.addAll(List.of("-retry-join", "127.0.0.1:" + port(other, 2)));
        }
        return options;
    }

    private int port(int server, int which) {
        return ports.get(PORTS * server + which);
    }

    private List<String> command(int number, List<String> options) {
        List<String> command =
                new ArrayList<>(List.of("consul", "agent", "-bind", "127.0.0.1", "-client", "127.0.0.1"));
        List<String> names = List.of("-http-port", "-server-port", "-serf-lan-port", "-serf-wan-port");
        for (int i = 0; i < PORTS; i++) {
            command.addAll(List.of(names.get(i), Integer.toString(port(number, i))));
        }
        command.addAll(List.of(
                "-dns-port",
                "-1",
                "-grpc-port",
                "-1",
                "-hcl",
                "disable_update_check = true",
                "-hcl",
                "limits = { http_max_conns_per_client = 10000 }"));
        command.addAll(options);
        return command;
    }

    private boolean answers(int server) {
        try {
            int status = get(server, "/v1/kv/none?consistent").statusCode();
            return status == 200 || status == 404;
        } catch (UncheckedIOException e) {
            return false;
        }
    }

    private HttpResponse<String> get(int server, String path) {
        URI uri = URI.create("http://127.0.0.1:" + port(server, 0) + path);
        try {
            return http.send(
                    HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(10)).build(),
                    HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new BrokenRunException("The runner was interrupted", e);
        }
    }

    private JsonObject self() {
        return JsonParser.parseString(get(0, "/v1/agent/self").body()).getAsJsonObject();
    }

    /** Of the first server, which leads or does not, as it happens. */
    @Override
    public String uri() {
        return "consul://127.0.0.1:" + port(0, 0);
    }

    @Override
    public ServerUse use() {
        long commits = self().getAsJsonObject("Stats")
                .getAsJsonObject("raft")
                .get("last_log_index")
                .getAsLong();
        return new ServerUse(
                commits,
                processes.stream().mapToDouble(MeasuredServer::processorMicros).sum());
    }

    @Override
    public String version() {
        String version = self().getAsJsonObject("Config").get("Version").getAsString();
        return "Consul " + version + (durable ? "" : ", development mode")
                + (processes.size() == 1 ? "" : ", 3 servers");
    }

    @Override
    public void close() {
        processes.forEach(ProcessServer::close);
    }
}
