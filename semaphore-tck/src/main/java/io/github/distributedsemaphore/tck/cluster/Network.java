package io.github.distributedsemaphore.tck.cluster;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Hosts of a test's own on this machine: network namespaces of Linux, joined by one more that is their router. What the router
 * loses vanishes without a word, as in a partition: neither side hears of it. This JVM is in none of the namespaces, and reaches
 * all hosts whatever is lost between them. Needs root and the command {@code ip}. Thread-safe.
 */
public final class Network implements AutoCloseable {
    private static final String PREFIX = "semaphore-";
    /** RFC 2544 sets 198.18.0.0/15 aside for tests of network devices: nobody routes it. */
    private static final String RANGE = "198.18.";

    private static final int NETWORKS = 256;
    /** Each host has a network of four addresses of its own: the router's is the first that may be used, and its own the second. */
    private static final int MOST_HOSTS = 64;

    private static final String SLOW = "rate 256kbit burst 4k latency 400ms";
    private static final int NOT_FOUND = 127;

    private final int number;
    private final List<Host> hosts = new ArrayList<>();
    private boolean closed;

    /**
     * Makes a network without hosts.
     *
     * @throws IllegalStateException if this system or this account cannot; {@link #absent} says why
     */
    public Network() {
        absent().ifPresent(reason -> {
            throw new IllegalStateException(reason);
        });
        removeLeftBehind();
        number = attach();
        forward(router());
        Runtime.getRuntime().addShutdownHook(new Thread(this::close, "remove network " + number));
    }

    /**
     * Says why there can be no network.
     *
     * @return the reason, or empty
     */
    public static synchronized Optional<String> absent() {
        String user = attempt("id -u").output();
        if (!user.equals("0")) {
            return Optional.of("network namespaces need root, and this is user " + user);
        }
        String probe = PREFIX + ProcessHandle.current().pid() + "-0-probe";
        try {
            run("ip netns add " + probe);
            run("ip link add one netns " + probe + " type veth peer name other netns " + probe);
            run("ip -n " + probe + " rule add from 198.18.0.1 to 198.18.0.2 blackhole");
            forward(probe);
            return Optional.empty();
        } catch (IllegalStateException e) {
            return Optional.of(
                    "no network namespaces can be made here by the command ip (Debian: iproute2): " + e.getMessage());
        } finally {
            attempt("ip netns del " + probe);
        }
    }

    private static void forward(String router) {
        require(attempt("ip netns exec " + router + " tee /proc/sys/net/ipv4/ip_forward", "1"), "forwarding packets");
    }

    /** The link to this JVM's own network is a lock: of two kits that choose one number, one cannot make it. */
    private static int attach() {
        String last = "";
        for (int number = 0; number < NETWORKS; number++) {
            String router = namespace(number, "router");
            if (attempt("ip netns add " + router).status() != 0) {
                continue;
            }
            Attempt linked = attempt("ip link add " + link(number) + " type veth peer name kit netns " + router);
            if (linked.status() == 0) {
                run("ip addr add " + RANGE + number + ".2/30 dev " + link(number));
                run("ip link set " + link(number) + " up");
                run("ip -n " + router + " addr add " + RANGE + number + ".1/30 dev kit");
                run("ip -n " + router + " link set kit up");
                run("ip route add " + RANGE + number + ".0/24 via " + RANGE + number + ".1");
                return number;
            }
            last = linked.output();
            attempt("ip netns del " + router);
        }
        throw new IllegalStateException("no network could be made: " + last);
    }

    private static String link(int number) {
        return "semkit" + number;
    }

    private static String namespace(int number, String host) {
        return PREFIX + ProcessHandle.current().pid() + "-" + number + "-" + host;
    }

    private String router() {
        return namespace(number, "router");
    }

    /** Removes the networks of JVMs that were killed. */
    private static void removeLeftBehind() {
        for (String line : attempt("ip netns list").output().split("\n", -1)) {
            String namespace = line.split(" ", -1)[0];
            String[] words = namespace.split("-", -1);
            if (namespace.startsWith(PREFIX)
                    && ProcessHandle.of(Long.parseLong(words[1])).isEmpty()) {
                remove(namespace);
            }
        }
    }

    private static void remove(String namespace) {
        for (String pid : attempt("ip netns pids " + namespace).output().split("\\s+", -1)) {
            if (!pid.isEmpty()) {
                ProcessHandle.of(Long.parseLong(pid)).ifPresent(ProcessHandle::destroyForcibly);
            }
        }
        attempt("ip netns del " + namespace);
    }

    /**
     * Adds a host.
     *
     * @param name what it is called: lower-case letters and digits
     * @return the host, which reaches all others
     */
    public synchronized Host add(String name) {
        int index = hosts.size() + 1;
        if (index >= MOST_HOSTS) {
            throw new IllegalStateException("a network has at most " + (MOST_HOSTS - 1) + " hosts");
        }
        Host host = new Host(name, namespace(number, name), RANGE + number + "." + (4 * index + 2), "to" + index);
        String gateway = RANGE + number + "." + (4 * index + 1);
        run("ip netns add " + host.namespace());
        run("ip link add " + host.link() + " netns " + router() + " type veth peer name eth0 netns "
                + host.namespace());
        run("ip -n " + host.namespace() + " addr add " + host.address() + "/30 dev eth0");
        run("ip -n " + host.namespace() + " link set lo up");
        run("ip -n " + host.namespace() + " link set eth0 up");
        run("ip -n " + router() + " addr add " + gateway + "/30 dev " + host.link());
        run("ip -n " + router() + " link set " + host.link() + " up");
        run("ip -n " + host.namespace() + " route add default via " + gateway);
        hosts.add(host);
        return host;
    }

    /**
     * Loses from now on what these send those, in this direction only. What those send these goes on to arrive.
     *
     * @param from the hosts whose packets are lost
     * @param to where these were to go
     */
    public synchronized void lose(List<Host> from, List<Host> to) {
        StringBuilder rules = new StringBuilder();
        for (Host sender : from) {
            for (Host receiver : to) {
                if (!sender.equals(receiver)) {
                    rules.append("rule add from ").append(sender.address()).append(" to ");
                    rules.append(receiver.address()).append(" priority 100 blackhole\n");
                }
            }
        }
        require(attempt("ip -n " + router() + " -batch -", rules.toString()), "lose packets");
    }

    /**
     * Loses from now on what these and those send each other.
     *
     * @param some the hosts of one side
     * @param others the hosts of the other
     */
    public void separate(List<Host> some, List<Host> others) {
        lose(some, others);
        lose(others, some);
    }

    /**
     * Lets 256 kbit a second pass to and from a host from now on, and loses what has to wait for longer than 400 ms.
     *
     * @param host the host
     */
    public void slow(Host host) {
        run("ip netns exec " + router() + " tc qdisc add dev " + host.link() + " root tbf " + SLOW);
        run("ip netns exec " + host.namespace() + " tc qdisc add dev eth0 root tbf " + SLOW);
    }

    /** Has everything pass again, at full speed. */
    public synchronized void heal() {
        while (attempt("ip -n " + router() + " rule del priority 100").status() == 0) {
            // Each call removes one rule.
        }
        for (Host host : hosts) {
            attempt("ip netns exec " + router() + " tc qdisc del dev " + host.link() + " root");
            attempt("ip netns exec " + host.namespace() + " tc qdisc del dev eth0 root");
        }
    }

    /** Ends every process on the hosts, and removes them. */
    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            hosts.forEach(host -> remove(host.namespace()));
            attempt("ip link del " + link(number));
            remove(router());
        }
    }

    /** How a command ended and what it printed. */
    private record Attempt(int status, String output) {}

    private static void run(String command) {
        require(attempt(command), command);
    }

    private static void require(Attempt attempt, String what) {
        if (attempt.status() != 0) {
            throw new IllegalStateException(what + " failed with status " + attempt.status() + ": " + attempt.output());
        }
    }

    private static Attempt attempt(String command) {
        return attempt(command, "");
    }

    private static Attempt attempt(String command, String input) {
        try {
            Process process = new ProcessBuilder(command.split(" ", -1))
                    .redirectErrorStream(true)
                    .start();
            try (OutputStream in = process.getOutputStream()) {
                in.write(input.getBytes(StandardCharsets.US_ASCII));
            }
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return new Attempt(process.waitFor(), output.strip());
        } catch (IOException e) {
            return new Attempt(NOT_FOUND, e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while '" + command + "' ran", e);
        }
    }
}
