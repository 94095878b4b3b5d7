package io.github.distributedsemaphore.cli;

import io.github.distributedsemaphore.SemaphoreClient;
import io.github.distributedsemaphore.tck.SemaphoreTck;
import io.github.distributedsemaphore.tck.harness.SemaphoreTckHarness;
import java.time.Duration;

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
        return new UserServerHarness(backend());
    }

    /** Several where the kit mostly waits. */
    @Override
    public int jvms() {
        try (SemaphoreClient client = SemaphoreClient.connect(backend())) {
            boolean waits = client.guarantees().detectionMax().compareTo(LONG_DETECTION) > 0;
            return waits ? JVMS : 1;
        }
    }
}
