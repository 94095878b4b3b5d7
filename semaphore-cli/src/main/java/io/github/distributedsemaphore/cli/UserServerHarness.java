package io.github.distributedsemaphore.cli;

import io.github.distributedsemaphore.tck.harness.ServerAccess;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** A backend that is somebody's: clients and their links can be disturbed, the server and what it stores cannot. */
final class UserServerHarness extends UriHarness {
    /** Of others clients find their servers on their own, or check the server's name, which is not that of a proxy. */
    private static final Pattern PLAIN = Pattern.compile("(redis|amqp|consul|postgresql)://.*");

    /** One for all clients, and they end some time after the last of them: local's watch, its JDK's, and Netty's. */
    private static final List<String> SHARED_THREADS = List.of(
            "semaphore-local-watch",
            "FileSystemWatchService",
            "globalEventExecutor",
            "CompletableFutureDelayScheduler",
            "ForkJoinPool.commonPool");

    private final Optional<ServerAccess> link;

    UserServerHarness(String uri) {
        super(uri);
        this.link = PLAIN.matcher(uri).matches() ? access(uri) : Optional.empty();
    }

    private static Optional<ServerAccess> access(String uri) {
        try {
            return Optional.of(new UriAccess(uri));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    @Override
    public Optional<ServerAccess> link() {
        return link;
    }

    @Override
    public boolean mayStay(Thread thread) {
        return SHARED_THREADS.stream().anyMatch(thread.getName()::startsWith);
    }

    @Override
    public Map<Integer, String> absent() {
        return Map.of(
                2, "links are disturbed only if the URI names one host and its port, without TLS",
                3, "the kit does not stop a server that is not its own",
                4, "the kit does not damage what a server stores that is not its own",
                5, "the kit has no accounts but the one in the URI");
    }
}
