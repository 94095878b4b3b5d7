package io.github.distributedsemaphore.consul;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.distributedsemaphore.tck.link.FreePorts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * The agent that the tests of this JVM use: one at the address that the system property {@code consul.address} or the
 * environment variable {@code CONSUL_TEST_ADDRESS} gives as {@code host:port}, else one that is started from the binary on
 * the PATH, in development mode on free ports of the loopback, and stopped with the JVM.
 */
final class ConsulServer {
    /** A node that is no agent: sessions that belong to it do not end with one. */
    static final String NODE = "semaphores";

    private static final HttpClient HTTP =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private static ConsulServer shared;

    private final String address;
    private final String token;

    ConsulServer(String address, String token) {
        this.address = address;
        this.token = token;
    }

    /** Started when it is wanted first, and tried again by the next test if that failed. */
    static synchronized ConsulServer shared() {
        if (shared == null) {
            shared = find();
        }
        return shared;
    }

    /** Returns host and port. */
    String address() {
        return address;
    }

    String host() {
        return address.substring(0, address.lastIndexOf(':'));
    }

    int port() {
        return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    }

    private static ConsulServer find() {
        String given = System.getProperty("consul.address", System.getenv().getOrDefault("CONSUL_TEST_ADDRESS", ""));
        return given.isEmpty() ? start() : new ConsulServer(given, "");
    }

    private static ConsulServer start() {
        String root = UUID.randomUUID().toString();
        return ConsulAgent.inMemory(FreePorts.choose(4), root, "-hcl", rights(root, "allow"))
                .server();
    }

    /** Configures rights: those of the token of an operator, and those of whoever has none. */
    static String rights(String root, String others) {
        return "acl { enabled = true default_policy = \"" + others + "\" tokens { master = \"" + root + "\" } }";
    }

    /** Whether an account is known here that can give rights. */
    boolean hasRights() {
        return !token.isEmpty();
    }

    /** Makes a token with some rights, as an operator does. */
    String createToken(String rules) {
        return createToken("policy-" + UUID.randomUUID(), rules);
    }

    /** The same, with a policy of that name, which can be changed later. */
    String createToken(String name, String rules) {
        JsonObject policy = new JsonObject();
        policy.addProperty("Name", name);
        policy.addProperty("Rules", rules);
        send("PUT", "/v1/acl/policy", policy.toString());
        JsonObject link = new JsonObject();
        link.addProperty("Name", name);
        JsonArray policies = new JsonArray();
        policies.add(link);
        JsonObject wanted = new JsonObject();
        wanted.add("Policies", policies);
        String made = send("PUT", "/v1/acl/token", wanted.toString()).body();
        return Json.text(Json.parse(made).getAsJsonObject(), "SecretID");
    }

    /** Gives a policy other rules. */
    void changePolicy(String name, String rules) {
        String found = send("GET", "/v1/acl/policy/name/" + name, "").body();
        String id = Json.text(Json.parse(found).getAsJsonObject(), "ID");
        JsonObject policy = new JsonObject();
        policy.addProperty("ID", id);
        policy.addProperty("Name", name);
        policy.addProperty("Rules", rules);
        int status = send("PUT", "/v1/acl/policy/" + id, policy.toString()).statusCode();
        if (status != 200) {
            throw new IllegalStateException("the policy was not changed: " + status);
        }
    }

    /** Whether there is an answer that only a leader can give. */
    boolean hasLeader() {
        try {
            int status = send("GET", "/v1/kv/none?consistent", "").statusCode();
            return status == 200 || status == 404;
        } catch (UncheckedIOException e) {
            return false;
        }
    }

    // What an operator does, past the adapter

    HttpResponse<String> send(String method, String path, String body) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://" + address + path))
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .timeout(Duration.ofSeconds(10));
        if (!token.isEmpty()) {
            request.header("X-Consul-Token", token);
        }
        try {
            return HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
        }
    }

    String get(String key) {
        HttpResponse<String> response = send("GET", "/v1/kv/" + key + "?raw&consistent", "");
        return response.statusCode() == 404 ? "" : response.body();
    }

    void put(String key, String value) {
        put(key, value, LockBody.FLAGS.toString());
    }

    void put(String key, String value, String flags) {
        String answer = send("PUT", "/v1/kv/" + key + "?flags=" + flags, value).body();
        if (!answer.strip().equals("true")) {
            throw new IllegalStateException("put of " + key + ": " + answer);
        }
    }

    void delete(String key) {
        send("DELETE", "/v1/kv/" + key, "");
    }

    void deleteBelow(String prefix) {
        send("DELETE", "/v1/kv/" + prefix + "/?recurse", "");
    }

    /** Makes the node {@link #NODE} known, as the documents tell an operator to. */
    void registerNode() {
        send("PUT", "/v1/catalog/register", "{\"Node\":\"" + NODE + "\",\"Address\":\"127.0.0.1\"}");
    }

    /** Ends a session as an operator would. */
    void destroySession(String id) {
        send("PUT", "/v1/session/destroy/" + id, "");
    }

    List<String> keys() {
        return strings("/v1/kv/?keys&consistent", "");
    }

    private List<String> strings(String path, String none) {
        HttpResponse<String> response = send("GET", path, none);
        List<String> found = new ArrayList<>();
        if (response.statusCode() == 200) {
            Json.parse(response.body()).getAsJsonArray().forEach(text -> found.add(text.getAsString()));
        }
        return found;
    }

    /** The session ids in the coordination key's list. */
    List<String> holders(String prefix) {
        LockBody body = LockBody.parse(prefix, LockBody.FLAGS.toString(), get(prefix + "/.lock"));
        return List.copyOf(body.holders());
    }
}
