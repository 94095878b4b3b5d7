package io.github.distributedsemaphore.consul.net;

import io.github.distributedsemaphore.Deadline;
import java.time.Duration;
import org.apache.http.client.methods.HttpRequestBase;
import org.apache.http.protocol.HttpContext;
import org.apache.http.protocol.HttpCoreContext;
import org.jspecify.annotations.Nullable;

/** What somebody asks. Its socket's time-outs end it when nothing comes, {@link #abort} ends it whatever it does. */
public final class Call {
    private final Duration onceConnected;
    private volatile Deadline end;
    private volatile boolean hadConnection;
    private @Nullable HttpContext context;
    private boolean aborted;
    private @Nullable HttpRequestBase request;

    /**
     * Creates one whose requests share a time.
     *
     * @param end when it has to be over, waiting for a connection included
     */
    Call(Deadline end) {
        this.end = end;
        this.onceConnected = Duration.ZERO;
    }

    /**
     * Creates one that may wait for news, and before that for as long for a connection.
     *
     * @param longest how long a request may take from when it has a connection
     */
    Call(Duration longest) {
        this.end = Deadline.after(System.nanoTime(), longest);
        this.onceConnected = longest;
    }

    /** Notes that there is a connection for it. */
    void connected() {
        hadConnection = true;
        if (!onceConnected.isZero()) {
            end = Deadline.after(System.nanoTime(), onceConnected);
        }
    }

    /** Whether there was a connection for it; if not, nothing was tried. */
    public boolean hadConnection() {
        return hadConnection;
    }

    Deadline end() {
        return end;
    }

    /** Ends the request, also if it is only about to be sent. */
    public synchronized void abort() {
        aborted = true;
        if (request != null) {
            request.abort();
        }
    }

    /** For the calling thread: begins one of its requests, of which nothing was sent yet. */
    void begins() {
        context = null;
    }

    /** For the calling thread: notes its request, just before it is sent. */
    void started(HttpRequestBase started, HttpContext ofRequest) {
        context = ofRequest;
        synchronized (this) {
            request = started;
            if (aborted) {
                started.abort();
            }
        }
    }

    /** For the calling thread: whether the server has certainly not seen the request that was last. */
    boolean isUnsent() {
        // The HTTP client sets it when it begins to send.
        return context == null || context.getAttribute(HttpCoreContext.HTTP_REQ_SENT) == null;
    }
}
