package io.github.distributedsemaphore.cli.tck;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import io.github.distributedsemaphore.tck.harness.ServerAccess;
import io.github.distributedsemaphore.tck.harness.UriAccess;
import io.github.distributedsemaphore.tck.harness.UriHarness;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;

/** The kit over the backend that {@link #BACKEND} names. JUnit makes the instances, here and in the JVMs that are started. */
public final class UserServerTck extends SemaphoreTck {
    /** The system property with the URI. It goes to other JVMs through a pipe, so its password is on no command line. */
    static final String BACKEND = "semaphore.tck.backend";

    private static final Duration LONG_DETECTION = Duration.ofSeconds(5);
    private static final int JVMS = 4;

    private static String backend() {
        String uri = System.getProperty(BACKEND);
        if (uri == null) {
            throw new IllegalStateException("the system property " + BACKEND + " is not set");
        }
        return uri;
    }

    @Override
    public SemaphoreTckHarness harness() {
        return new Harness(backend());
    }

    /** Several where the kit mostly waits. */
    @Override
    public int jvms() {
        try (SemaphoreClient client = SemaphoreClient.connect(backend())) {
            boolean waits = client.guarantees().detectionMax().compareTo(LONG_DETECTION) > 0;
            return waits ? JVMS : 1;
        }
    }

    /** A backend that is somebody's: clients and their links can be disturbed, the server and what it stores cannot. */
    private static final class Harness extends UriHarness {
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

        Harness(String uri) {
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
}
