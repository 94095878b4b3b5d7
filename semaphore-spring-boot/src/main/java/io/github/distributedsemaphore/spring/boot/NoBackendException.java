package io.github.distributedsemaphore.spring.boot;

import io.github.distributedsemaphore.spi.support.BackendUri;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** The application does not say which backend to use, or says it twice. It does not start then. */
public final class NoBackendException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NoBackendException(List<String> found) {
        super(
                found.isEmpty()
                        ? "No backend for distributed semaphores is configured"
                        : "Several backends for distributed semaphores are configured: " + String.join(", ", found));
    }

    /** What of a URI may be shown: neither user nor password, nor settings, of which some are passwords. */
    static String shown(String uri) {
        try {
            return BackendUri.parse(uri).toString();
        } catch (IllegalArgumentException e) {
            return "a URI that cannot be read (" + e.getMessage() + ")";
        }
    }

    /** Says at the start what to set. */
    static final class Analyzer extends AbstractFailureAnalyzer<NoBackendException> {
        @Override
        protected @Nullable FailureAnalysis analyze(Throwable failure, NoBackendException cause) {
            return new FailureAnalysis(cause.getMessage() + ".", """
                    Do one of these:
                    - set distributed-semaphore.uri, such as redis://cache:6379;
                    - have exactly one of semaphore-redis and semaphore-rabbitmq on the path, together with Spring Boot's own \
                    starter for that server, whose connection is used then;
                    - define a bean of type SemaphoreConnectionDetails or SemaphoreClient.
                    In tests, and for the processes of one machine, distributed-semaphore.uri can be memory: or local:. Neither is a \
                    default, since on several hosts each would let the whole limit in once per host.""", cause);
        }
    }
}
