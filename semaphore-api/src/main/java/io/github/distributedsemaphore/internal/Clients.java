package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Finds the adapter for a URI and puts the engine on top of it. */
public final class Clients {
    /** For the error message only: the modules of this project by the schemes they serve. */
    private static final Map<String, String> KNOWN_MODULES = Map.ofEntries(
            Map.entry("local", "semaphore-local"),
            Map.entry("memory", "semaphore-test"),
            Map.entry("redis", "semaphore-redis"),
            Map.entry("rediss", "semaphore-redis"),
            Map.entry("redis-sentinel", "semaphore-redis"),
            Map.entry("rediss-sentinel", "semaphore-redis"),
            Map.entry("redis-cluster", "semaphore-redis"),
            Map.entry("rediss-cluster", "semaphore-redis"),
            Map.entry("amqp", "semaphore-rabbitmq"),
            Map.entry("amqps", "semaphore-rabbitmq"),
            Map.entry("consul", "semaphore-consul"),
            Map.entry("consul+https", "semaphore-consul"),
            Map.entry("postgresql", "semaphore-jdbc"),
            Map.entry("jdbc", "semaphore-jdbc"));

    private Clients() {}

    /**
     * Makes a client of the backend that a URI names.
     *
     * @param uri the URI with its settings
     * @param callbacks runs the application's own code; null for threads of the client
     * @return the client
     */
    public static SemaphoreClient connect(BackendUri uri, @Nullable Executor callbacks) {
        SemaphoreBackend backend =
                provider(uri.scheme()).open(uri, HolderInfo.ofThisProcess(ClientSettings.label(uri)));
        return orClose(backend, () -> start(backend, uri, callbacks));
    }

    /**
     * Puts the engine on a backend that the application made, which is closed if a setting is refused.
     *
     * @param backend the backend
     * @param uri carries the engine's settings
     * @param callbacks runs the application's own code; null for threads of the client
     * @return the client
     */
    public static SemaphoreClient over(SemaphoreBackend backend, BackendUri uri, @Nullable Executor callbacks) {
        return orClose(backend, () -> {
            String label = ClientSettings.label(uri);
            if (!label.isEmpty()) {
                throw new IllegalArgumentException("The setting 'label' = '" + label
                        + "' cannot be given to a backend that is made already: make the backend with that label");
            }
            return start(backend, uri, callbacks);
        });
    }

    private static SemaphoreClient start(SemaphoreBackend backend, BackendUri uri, @Nullable Executor callbacks) {
        ClientSettings settings = ClientSettings.from(uri, backend);
        uri.refuseUnread();
        return new EngineClient(backend, settings, Environment.of(backend, callbacks));
    }

    private static SemaphoreClient orClose(SemaphoreBackend backend, Supplier<SemaphoreClient> start) {
        try {
            return start.get();
        } catch (RuntimeException | Error e) {
            // An Error too: the client may find no thread for its timer.
            backend.close();
            throw e;
        }
    }

    private static BackendProvider provider(String scheme) {
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        ClassLoader own = Clients.class.getClassLoader();
        Search search = new Search(scheme);
        return Stream.of(context == null ? own : context, own)
                .distinct()
                .map(search::in)
                .flatMap(Optional::stream)
                .findFirst()
                .orElseThrow(search::failure);
    }

    /** A look through the providers on the path for one that serves a scheme. A broken one matters only if none does. */
    private static final class Search {
        /** A path that cannot be read at all fails again and again. */
        private static final int MOST_BROKEN = 100;

        private final String scheme;
        private final Set<String> found = new TreeSet<>();
        private final List<Throwable> broken = new ArrayList<>();

        Search(String scheme) {
            this.scheme = scheme;
        }

        Optional<BackendProvider> in(ClassLoader loader) {
            Iterator<BackendProvider> providers =
                    ServiceLoader.load(BackendProvider.class, loader).iterator();
            while (broken.size() < MOST_BROKEN) {
                try {
                    if (!providers.hasNext()) {
                        break;
                    }
                    BackendProvider provider = providers.next();
                    Set<String> schemes = provider.schemes();
                    if (schemes.contains(scheme)) {
                        return Optional.of(provider);
                    }
                    found.addAll(schemes);
                } catch (ServiceConfigurationError | LinkageError | RuntimeException e) {
                    broken.add(e);
                }
            }
            return Optional.empty();
        }

        IllegalArgumentException failure() {
            String module = KNOWN_MODULES.get(scheme);
            String repair = module == null
                    ? "the schemes on the path are " + found
                    : "add the module io.github.distributedsemaphore:" + module + " to the path, which has " + found;
            String unusable = broken.isEmpty() ? "" : "; what could not be loaded: " + broken.get(0);
            IllegalArgumentException failure =
                    new IllegalArgumentException("No backend for '" + scheme + ":': " + repair + unusable);
            broken.forEach(failure::addSuppressed);
            return failure;
        }
    }
}
