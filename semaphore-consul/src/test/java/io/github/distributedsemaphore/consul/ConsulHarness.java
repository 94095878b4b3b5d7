package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.Leftovers;
import io.github.distributedsemaphore.tck.StateProbe;
import io.github.distributedsemaphore.tck.UriHarness;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** How the kit reaches a real agent. */
final class ConsulHarness extends UriHarness implements StateProbe {
    private final ConsulServer server = ConsulServer.shared();
    private final String root;

    ConsulHarness() {
        this("tck/" + UUID.randomUUID());
    }

    private ConsulHarness(String root) {
        // The shortest that Consul can do: rules that kill a holder wait for it.
        super(Consul.uri("detection=22s", "prefix=" + root));
        this.root = root;
    }

    private String prefix(String name) {
        return KeyNames.prefixOf(root, name);
    }

    @Override
    public Optional<StateProbe> state() {
        return Optional.of(this);
    }

    /** Keys, and sessions beyond those of holders, which are keys as well. */
    @Override
    public Leftovers leftovers() {
        return Leftovers.of(server.keys().stream()
                .filter(key -> key.startsWith(root + "/"))
                .filter(key -> !key.endsWith("/.lock") || !isOfTheDead(key))
                .toList());
    }

    /** A destroyed semaphore whose last holder died without a word: the key goes with the next use of the name. */
    private boolean isOfTheDead(String key) {
        String prefix = key.substring(0, key.length() - "/.lock".length());
        String body = server.get(key);
        return body.contains("\"Destroyed\":true")
                && server.keys().stream().noneMatch(other -> other.startsWith(prefix + "/") && !other.equals(key));
    }

    @Override
    public boolean mayStay(Thread thread) {
        // Of the tests' own look at the server.
        return thread.getName().startsWith("HttpClient-");
    }

    @Override
    public void wipe(String name) {
        server.deleteBelow(prefix(name));
    }

    @Override
    public void removeHolder(String name, int slot) {
        PrefixView view = read(name);
        for (String session : view.liveHolders()) {
            if (view.contenders().get(session).slot() == slot) {
                server.destroySession(session);
                return;
            }
        }
        throw new IllegalStateException("nobody holds slot " + slot + " of " + name);
    }

    private PrefixView read(String name) {
        String listing = server.send("GET", "/v1/kv/" + prefix(name) + "/?recurse&consistent", "")
                .body();
        return new PrefixReader(null, prefix(name), name).parse(listing);
    }

    @Override
    public List<String> corruptions() {
        return List.of(
                "garbage", "list form", "no holders", "null holders", "a plain lock", "another limit", "own key");
    }

    @Override
    public void corrupt(String name, String kind) {
        String key = prefix(name) + "/.lock";
        switch (kind) {
            case "garbage" -> server.put(key, "garbage");
            case "list form" -> server.put(key, "{\"Limit\":2,\"Holders\":[]}");
            case "no holders" -> server.put(key, "{\"Limit\":2}");
            case "null holders" -> server.put(key, "{\"Limit\":2,\"Holders\":null}");
            case "a plain lock" -> server.put(key, "x", "3304740253564472344");
            case "another limit" -> server.put(key, "{\"Limit\":5,\"Holders\":{}}");
            default -> server.put(prefix(name) + "/.semaphore", "garbage");
        }
    }

    @Override
    public void occupy(String name) {
        server.put(prefix(name) + "/.lock", "{\"Limit\":2,\"Holders\":[]}", "0");
    }

    @Override
    public String occupant(String name) {
        return server.get(prefix(name) + "/.lock");
    }

    @Override
    public void remove(String name) {
        server.deleteBelow(prefix(name));
    }
}
