package io.github.distributedsemaphore.tck.harness;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.Optional;

/**
 * A harness for a backend that is reached by a URI: clients connect to it, and so do agents in other JVMs, which run on
 * the class path of this one. Thread-safe.
 */
public class UriHarness implements SemaphoreTckHarness {
    private final String uri;

    /**
     * Creates it.
     *
     * @param uri the backend with its settings. Choose a short detection bound: the kit waits for it often
     */
    public UriHarness(String uri) {
        this.uri = uri;
    }

    /**
     * Returns the URI.
     *
     * @return as given
     */
    public final String uri() {
        return uri;
    }

    @Override
    public SemaphoreClient connect(ClientSpec spec) {
        return UriAccess.connect(uri, spec);
    }

    @Override
    public Optional<AgentLauncher> agents() {
        return Optional.of(AgentLauncher.sameClassPath(uri));
    }

    @Override
    public String toString() {
        return BackendUri.parse(uri).toString();
    }
}
