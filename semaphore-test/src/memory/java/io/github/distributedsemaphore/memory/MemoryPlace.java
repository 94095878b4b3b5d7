package io.github.distributedsemaphore.memory;

import io.github.distributedsemaphore.spi.HolderInfo;
import java.time.Duration;
import java.util.function.Function;

/** A server that has a name in this JVM, and how its clients come to it. Thread-safe. */
public final class MemoryPlace {
    static final Duration DEFAULT_DETECTION = Duration.ofSeconds(10);

    private final Duration detection;
    private final Function<HolderInfo, MemoryBackend> connect;

    /** Makes a server that works. */
    MemoryPlace(Duration detection) {
        this(detection, server(detection));
    }

    private MemoryPlace(Duration detection, MemoryServer server) {
        this(detection, self -> new MemoryBackend(server, self));
    }

    /**
     * Names a server that a test made.
     *
     * @param detection within which time the slot of a dead holder is free
     * @param connect makes a client's end
     */
    public MemoryPlace(Duration detection, Function<HolderInfo, MemoryBackend> connect) {
        this.detection = detection;
        this.connect = connect;
    }

    private static MemoryServer server(Duration detection) {
        return new MemoryServer(System::nanoTime, leaseFor(detection), MemoryServer.ALL, Runnable::run);
    }

    /**
     * Says how long a session lives without a renewal.
     *
     * @param detection within which time the slot of a dead holder is free
     * @return the lease
     */
    public static Duration leaseFor(Duration detection) {
        return detection.minus(MemoryBackend.OPERATION);
    }

    Duration detection() {
        return detection;
    }

    MemoryBackend connect(HolderInfo self) {
        return connect.apply(self);
    }
}
