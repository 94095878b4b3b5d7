package io.github.distributedsemaphore;

import io.github.distributedsemaphore.internal.HeldPermit;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Interrupts the thread that works under a permit when the permit is lost, so that work that blocks stops early.
 *
 * <pre>{@code
 * try (Permit permit = exports.acquire(Duration.ofSeconds(30));
 *         InterruptOnLoss guard = InterruptOnLoss.guard(permit)) {
 *     for (Page page : pages) {
 *         guard.throwIfLost();
 *         queue.put(page); // throws InterruptedException when the permit is lost
 *     }
 * }
 * }</pre>
 *
 * <p>It interrupts at most once, and never after its {@link #close}. It does so on a thread of the client, whatever executor runs the
 * application's callbacks. It takes its interrupt back: at close, and when {@link
 * #throwIfLost} throws, the interrupt flag is cleared if it is still set. An interrupt by somebody else is kept if it came before
 * the loss, or after this guard's own was taken back. A thread has one flag only: an interrupt by somebody else that comes in between
 * cannot be told from this guard's own, and is cleared with it. Two guards of a thread whose permits are lost together interrupt it once: code
 * under the outer guard that goes on after work under the inner one has failed asks {@link #throwIfLost} first.
 *
 * <p>{@link #loss} may be called by any thread, the other methods only by the thread that opened the guard. It is no
 * protection by itself: a thread that does not run cannot be interrupted in time. What a former holder must not do, a {@link
 * Fence} prevents.
 */
public final class InterruptOnLoss implements AutoCloseable {
    private final Thread worker = Thread.currentThread();
    private final Holding holding;
    private final HeldPermit.Prompt listener = this::lost;
    private @Nullable PermitLoss loss;
    private boolean interrupting;
    private boolean closed;

    private InterruptOnLoss(Holding holding) {
        this.holding = holding;
    }

    /**
     * Begins to guard the calling thread. If a permit is lost already the interrupt comes soon.
     *
     * @param holding a permit, or a group: then the loss of any of its permits counts
     * @return the guard, to be closed by the same thread before the permit is released
     */
    @CheckReturnValue
    public static InterruptOnLoss guard(Holding holding) {
        InterruptOnLoss guard = new InterruptOnLoss(holding);
        holding.onLost(guard.listener);
        return guard;
    }

    private synchronized void lost(PermitLoss news) {
        if (loss != null || closed) {
            return;
        }
        loss = news;
        // One that is set already is somebody else's: it stops the work just as well, and is not ours to take back.
        if (!worker.isInterrupted()) {
            interrupting = true;
            worker.interrupt();
        }
    }

    /**
     * Returns the loss that this guard was called for.
     *
     * @return the first one; empty if there was none before the close
     */
    public synchronized Optional<PermitLoss> loss() {
        return Optional.ofNullable(loss);
    }

    /**
     * Ends the work if a permit was lost. Takes the guard's own interrupt back then, so that what cleans up can block.
     *
     * @throws PermitLostException if a permit was lost
     */
    public void throwIfLost() {
        PermitLoss found = find();
        if (found != null) {
            takeBack();
            throw new PermitLostException(found);
        }
    }

    /** The permit may be lost before the listener is told. */
    private @Nullable PermitLoss find() {
        PermitLoss known = loss().or(() -> HeldPermit.knownLoss(holding)).orElse(null);
        synchronized (this) {
            if (loss == null && !closed) {
                loss = known;
            }
            return loss;
        }
    }

    /** Ends the guard and takes its own interrupt back. Idempotent. */
    @Override
    public void close() {
        end();
        HeldPermit.forget(holding, listener);
    }

    private synchronized void end() {
        closed = true;
        takeBack();
    }

    private synchronized void takeBack() {
        if (interrupting && Thread.currentThread() == worker) {
            interrupting = false;
            Thread.interrupted();
        }
    }
}
