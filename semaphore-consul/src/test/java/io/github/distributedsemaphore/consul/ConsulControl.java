package io.github.distributedsemaphore.consul;

import static org.awaitility.Awaitility.await;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.harness.ClientSpec;
import io.github.distributedsemaphore.tck.harness.HookMissingException;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * Servers of the kit's own, with their data on disk: one or several, for a fail-over a cluster of three. They are stopped, killed,
 * robbed of their data, and told to refuse the clients' token.
 */
final class ConsulControl implements ServerControl {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final String POLICY = "kit";

    private final String settings;
    private final int size;
    private final String token = UUID.randomUUID().toString();
    private final String root = UUID.randomUUID().toString();
    private final Path data = temporaryFolder();
    private List<ConsulAgent> servers = new ArrayList<>();
    private ConsulAgent main;

    /**
     * Starts servers.
     *
     * @param settings of the clients' URI, without token
     * @param size how many
     */
    ConsulControl(String settings, int size) {
        this.settings = settings;
        this.size = size;
        this.main = launch(size);
    }

    private static Path temporaryFolder() {
        try {
            return Files.createTempDirectory("consul-kit");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Starts so many servers, and returns the leader. */
    private ConsulAgent launch(int number) {
        Path folder = data.resolve(UUID.randomUUID().toString());
        servers = ConsulAgent.cluster(folder, number, root, ConsulServer.rights(root, "allow"));
        return prepared(servers);
    }

    private ConsulAgent prepared(List<ConsulAgent> candidates) {
        ConsulAgent leader = ConsulAgent.leaderOf(candidates);
        JsonObject made = new JsonObject();
        made.addProperty("SecretID", token);
        JsonObject link = new JsonObject();
        link.addProperty("Name", POLICY);
        JsonArray links = new JsonArray();
        links.add(link);
        made.add("Policies", links);
        await("the clients' token is known").atMost(PATIENCE).ignoreExceptions().until(() -> {
            ConsulServer server = leader.server();
            if (server.send("GET", "/v1/acl/policy/name/" + POLICY, "").statusCode() != 200) {
                server.send("PUT", "/v1/acl/policy", policy("write").toString());
            }
            server.send("PUT", "/v1/acl/token", made.toString());
            server.registerNode();
            int status = new ConsulServer(server.address(), token)
                    .send("GET", "/v1/kv/probe?consistent", "")
                    .statusCode();
            return status == 404;
        });
        return leader;
    }

    private static JsonObject policy(String right) {
        JsonObject policy = new JsonObject();
        policy.addProperty("Name", POLICY);
        policy.addProperty(
                "Rules",
                "key_prefix \"\" { policy = \"" + right + "\" } session_prefix \"\" { policy = \"" + right + "\" }");
        return policy;
    }

    private synchronized UriAccess access() {
        return new UriAccess("consul://" + main.server().address() + settings + "&token=" + token);
    }

    @Override
    public InetSocketAddress address() {
        return access().address();
    }

    @Override
    public SemaphoreClient connect(ClientSpec spec, InetSocketAddress through) {
        return access().connect(spec, through);
    }

    @Override
    public synchronized boolean isRunning() {
        return main.isRunning();
    }

    @Override
    public synchronized void start() {
        servers.stream().filter(server -> !server.isRunning()).forEach(ConsulAgent::start);
        servers.forEach(ConsulAgent::awaitLeader);
        prepared(servers);
    }

    @Override
    public synchronized void stop() {
        servers.forEach(ConsulAgent::stop);
    }

    @Override
    public synchronized void kill() {
        servers.forEach(ConsulAgent::kill);
    }

    @Override
    public synchronized void wipe() {
        servers.forEach(server -> deleteTree(server.data()));
    }

    @Override
    public synchronized String incarnation() {
        return Long.toString(main.pid());
    }

    @Override
    public synchronized List<Long> processes() {
        return servers.stream().map(ConsulAgent::pid).toList();
    }

    @Override
    public List<String> errors() {
        return List.of("rights taken away");
    }

    @Override
    public void beginErrors(String kind) {
        rights("deny");
    }

    @Override
    public void endErrors(String kind) {
        rights("write");
    }

    private synchronized void rights(String right) {
        ConsulServer operator = main.server();
        String found = operator.send("GET", "/v1/acl/policy/name/" + POLICY, "").body();
        String id = Json.text(Json.parse(found).getAsJsonObject(), "ID");
        JsonObject changed = policy(right);
        changed.addProperty("ID", id);
        int status =
                operator.send("PUT", "/v1/acl/policy/" + id, changed.toString()).statusCode();
        if (status != 200) {
            throw new IllegalStateException("the rights were not changed: " + status);
        }
        ConsulServer client = new ConsulServer(operator.address(), token);
        int expected = right.equals("deny") ? 403 : 404;
        await("the rights hold")
                .atMost(PATIENCE)
                .until(() -> client.send("GET", "/v1/kv/probe?consistent", "").statusCode() == expected);
    }

    /** A cluster in place of what was there; two of its three servers can lose the third one. */
    @Override
    public synchronized Optional<Replica> replica() {
        servers.forEach(ConsulAgent::close);
        main = launch(3);
        return Optional.of(new Follower());
    }

    @Override
    public synchronized void close() {
        servers.forEach(ConsulAgent::close);
        deleteTree(data);
    }

    static void deleteTree(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whichever server the other two elect. What was committed is on one of them at least, and that one is elected. */
    private final class Follower implements Replica {
        @Override
        public void awaitCaughtUp() {
            // A commit is not answered before it is on the majority.
        }

        @Override
        public void detach() {
            throw new HookMissingException("server that lacks what was committed: Raft lets none of those lead");
        }

        @Override
        public void promote() {
            synchronized (ConsulControl.this) {
                ConsulAgent former = main;
                former.kill();
                List<ConsulAgent> rest =
                        servers.stream().filter(server -> server != former).toList();
                rest.forEach(ConsulAgent::awaitLeader);
                main = ConsulAgent.leaderOf(rest);
            }
        }

        @Override
        public void close() {
            synchronized (ConsulControl.this) {
                servers.forEach(ConsulAgent::close);
                main = launch(size);
            }
        }
    }
}
