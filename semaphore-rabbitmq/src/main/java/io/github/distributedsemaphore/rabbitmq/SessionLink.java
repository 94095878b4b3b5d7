package io.github.distributedsemaphore.rabbitmq;

import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.rabbitmq.net.CallBudget;
import io.github.distributedsemaphore.rabbitmq.net.Failures;
import io.github.distributedsemaphore.rabbitmq.net.HolderConnection;
import io.github.distributedsemaphore.spi.SessionListener;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** The connection of a session: made for the first hold, and never again. Its end is the end of the session. Thread-safe. */
final class SessionLink {
    private final RabbitBackend backend;
    private final QueueNames names;
    private final SessionListener listener;
    private final AtomicBoolean over = new AtomicBoolean();
    private final ReentrantLock lock = new ReentrantLock();
    private volatile @Nullable HolderConnection holder;
    private volatile CompletableFuture<?> listening = CompletableFuture.completedFuture("");

    SessionLink(RabbitBackend backend, QueueNames names, SessionListener listener) {
        this.backend = backend;
        this.names = names;
        this.listener = listener;
    }

    boolean isOver() {
        return over.get();
    }

    BackendUnavailableException gone(@Nullable Exception cause) {
        return Failures.unavailable(
                names.subject() + ": the connection is lost, and the permits with it"
                        + (cause == null ? "" : ": " + cause.getMessage()),
                cause);
    }

    /**
     * The connection was lost while slots were taken. They are free as soon as the broker notices that, and until then they may be taken.
     */
    OutcomeUnknownException goneWhileTaking(Exception cause) {
        return new OutcomeUnknownException(
                names.subject()
                        + ": the connection was lost while permits were taken; they are free when the broker notices it: "
                        + cause.getMessage(),
                cause);
    }

    /** The connection, opened if there was none. */
    HolderConnection holder(CallBudget budget) {
        lock.lock();
        try {
            if (over.get()) {
                throw gone(null);
            }
            HolderConnection present = holder;
            if (present == null) {
                backend.probes().prepare();
                present = new HolderConnection(
                        backend.connections(), "semaphore " + names.semaphore(), this::lost, budget.end());
                holder = present;
                if (over.get()) {
                    // Aborted meanwhile.
                    present.drop("the session is over");
                    throw gone(null);
                }
                listening = backend.mailbox().listen(names.encoded());
            }
            return present;
        } finally {
            lock.unlock();
        }
    }

    /** Returns when this client is subscribed to the question for holders of permits, or a while later: nothing depends on it. */
    void awaitListening(CallBudget budget) {
        Mailbox.await(listening, budget.patience(Mailbox.PATIENCE));
    }

    /** What the broker agreed to, which may be less than was asked for. */
    Duration heartbeat() {
        HolderConnection present = holder;
        return present == null ? backend.heartbeat() : Duration.ofSeconds(present.heartbeat());
    }

    private void lost(String reason) {
        if (over.compareAndSet(false, true)) {
            listener.ended(reason);
        }
    }

    /** Ends the connection without a word, and tells. */
    void end(String reason) {
        HolderConnection present = present();
        if (present != null) {
            present.drop(reason);
        }
        lost(reason);
    }

    private @Nullable HolderConnection present() {
        lock.lock();
        try {
            return holder;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Ends the connection in order.
     *
     * @param end how long to wait for the broker's word
     * @return whether there was one
     */
    boolean close(Deadline end) {
        over.set(true);
        HolderConnection present = present();
        if (present == null) {
            return false;
        }
        present.close(end);
        return true;
    }

    /** Ends the connection as if the process had died. */
    void abort() {
        over.set(true);
        HolderConnection present = holder;
        if (present != null) {
            present.drop("the client was aborted");
        }
    }
}
