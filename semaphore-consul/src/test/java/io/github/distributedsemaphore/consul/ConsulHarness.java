package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.tck.harness.Accounts;
import io.github.distributedsemaphore.tck.harness.HookMissingException;
import io.github.distributedsemaphore.tck.harness.Leftovers;
import io.github.distributedsemaphore.tck.harness.ServerAccess;
import io.github.distributedsemaphore.tck.harness.ServerControl;
import io.github.distributedsemaphore.tck.harness.StateProbe;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** How the kit reaches a real agent. */
class ConsulHarness extends UriHarness implements StateProbe {
    /** The shortest that Consul can do: rules that kill a holder wait for it. */
    private static final String SETTINGS = "?detection=22s";

    /** Sessions end by their time only, also when servers come and go. */
    private static final String NODE = "&node=" + ConsulServer.NODE;

    private final ConsulServer server;
    private final String root;
    private final String settings;
    private final int servers;
    private @Nullable Accounts accounts;

    ConsulHarness() {
        this(ConsulServer.shared());
    }

    ConsulHarness(ConsulServer server) {
        this(server, "tck/" + UUID.randomUUID(), "", 1);
    }

    private ConsulHarness(ConsulServer server, String root, String more, int servers) {
        super("consul://" + server.address() + SETTINGS + "&prefix=" + root + more);
        this.server = server;
        this.root = root;
        this.settings = SETTINGS + "&prefix=" + root + NODE;
        this.servers = servers;
    }

    /** At a server, with sessions that end by their time only. So many servers serve the sections that stop them. */
    static ConsulHarness ofNode(ConsulServer server, int servers) {
        server.registerNode();
        return new ConsulHarness(server, "tck/" + UUID.randomUUID(), NODE, servers);
    }

    @Override
    public String backendVersion() {
        String self = server.send("GET", "/v1/agent/self", "").body();
        return "Consul " + Json.text(Json.parse(self).getAsJsonObject().getAsJsonObject("Config"), "Version");
    }

    @Override
    public Optional<ServerAccess> link() {
        return Optional.of(new UriAccess(uri()));
    }

    @Override
    public Optional<ServerControl> startServer() {
        return Optional.of(new ConsulControl(settings, servers));
    }

    @Override
    public synchronized Optional<Accounts> accounts() {
        if (accounts == null && server.hasRights()) {
            accounts = ConsulAccounts.at(server, root, uri());
        }
        return Optional.ofNullable(accounts);
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
        return Leftovers.of(
                server.keys().stream().filter(key -> key.startsWith(root + "/")).toList());
    }

    @Override
    public boolean mayStay(Thread thread) {
        // Of the tests' own look at the server; and of the kit's own client, which waits for the end of the dead at
        // what it destroyed, and bounds its queries; that a timer ends with its client is in ThriftTest.
        return thread.getName().startsWith("HttpClient-")
                || thread.getName().startsWith("semaphore-consul-destroyed ")
                || thread.getName().equals(Consul.TIMER_THREAD);
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

    @Override
    public void plantEpoch(String name, long epoch) {
        throw new HookMissingException(
                "StateProbe.plantEpoch: epochs are 1,024 times the index of the server's log, which nobody can set");
    }

    /** Slots are stored only with their holders, so these are holders whose sessions have ended: more than the limit. */
    @Override
    public void plantSlots(String name, int more) {
        PrefixView view = read(name);
        Set<String> holders = new HashSet<>(view.liveHolders());
        for (int i = 0; i < view.limit() + more; i++) {
            holders.add(UUID.randomUUID().toString());
        }
        String body = new LockBody(view.limit(), holders, "", false).toJson();
        String path = "/v1/kv/" + prefix(name) + "/.lock?flags=" + LockBody.FLAGS + "&cas=" + view.lockIndex();
        String answer = server.send("PUT", path, body).body();
        if (!answer.strip().equals("true")) {
            throw new IllegalStateException("the holders of " + name + " changed meanwhile: " + answer);
        }
    }
}
