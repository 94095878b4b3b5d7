package io.github.distributedsemaphore.internal;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.BackendProvider;
import io.github.distributedsemaphore.spi.BackendUri;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.TreeSet;

/** Finds the adapter for a URI and puts the engine on top of it. */
public final class Clients {
    /** For the error message only: the modules of this project by the schemes they serve. */
    private static final Map<String, String> KNOWN_MODULES = Map.of(
            "local", "semaphore-local",
            "redis", "semaphore-redis",
            "rediss", "semaphore-redis",
            "redis-sentinel", "semaphore-redis",
            "redis-cluster", "semaphore-redis",
            "amqp", "semaphore-rabbitmq",
            "amqps", "semaphore-rabbitmq",
            "consul", "semaphore-consul",
            "consul+https", "semaphore-consul");

    private Clients() {}

    /**
     * Connects to the backend that a URI names.
     *
     * @param uri the URI with its settings
     * @return the client
     */
    public static SemaphoreClient connect(BackendUri uri) {
        HolderInfo self = HolderInfo.ofThisProcess(ClientSettings.from(uri).label());
        return over(provider(uri.scheme()).open(uri, self), uri);
    }

    /**
     * Puts the engine on a backend, which is closed if a setting is refused.
     *
     * @param backend the backend
     * @param uri carries the engine's settings
     * @return the client
     */
    public static SemaphoreClient over(SemaphoreBackend backend, BackendUri uri) {
        try {
            ClientSettings settings = ClientSettings.from(uri);
            uri.refuseUnread();
            return new EngineClient(backend, settings, Environment.real());
        } catch (RuntimeException e) {
            backend.close();
            throw e;
        }
    }

    private static BackendProvider provider(String scheme) {
        ClassLoader context = Thread.currentThread().getContextClassLoader();
        ClassLoader loader = context == null ? Clients.class.getClassLoader() : context;
        return find(scheme, loader)
                .or(() -> find(scheme, Clients.class.getClassLoader()))
                .orElseThrow(() -> unknown(scheme, loader));
    }

    private static Optional<BackendProvider> find(String scheme, ClassLoader loader) {
        return ServiceLoader.load(BackendProvider.class, loader).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.schemes().contains(scheme))
                .findFirst();
    }

    private static IllegalArgumentException unknown(String scheme, ClassLoader loader) {
        TreeSet<String> found = new TreeSet<>();
        ServiceLoader.load(BackendProvider.class, loader).forEach(provider -> found.addAll(provider.schemes()));
        String module = KNOWN_MODULES.get(scheme);
        String repair = module == null
                ? "the schemes on the path are " + found
                : "add the module io.github.distributedsemaphore:" + module + " to the path, which has " + found;
        return new IllegalArgumentException("No backend for '" + scheme + ":': " + repair);
    }
}
