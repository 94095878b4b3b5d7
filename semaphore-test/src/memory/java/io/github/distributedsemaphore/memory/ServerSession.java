package io.github.distributedsemaphore.memory;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.spi.ExchangeResult;
import io.github.distributedsemaphore.spi.HolderInfo;
import io.github.distributedsemaphore.spi.SessionListener;
import org.jspecify.annotations.Nullable;

/** What the server knows of one session. Guarded by the server. */
public final class ServerSession {
    final MemoryBackend client;
    final String name;
    final HolderInfo holder;
    final SessionListener listener;
    Deadline leaseEnd = Deadline.NEVER;
    boolean ended;
    boolean gone;
    boolean waiting;

    @Nullable
    Runnable hint;

    long lastSequence;

    @Nullable
    ExchangeResult lastResult;

    ServerSession(MemoryBackend client, String name, HolderInfo holder, SessionListener listener) {
        this.client = client;
        this.name = name;
        this.holder = holder;
        this.listener = listener;
    }

    /** Returns the semaphore that it is for. */
    public String name() {
        return name;
    }
}
