package io.github.distributedsemaphore;

import io.github.distributedsemaphore.guarantees.Guarantees;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * What an acquire gives its caller: one {@link Permit}, or a {@link PermitGroup} of several that were acquired together.
 * Thread-safe. Closing it releases what is still held.
 */
public interface Holding extends AutoCloseable {
    /**
     * Returns the name of the semaphore.
     *
     * @return the name as the application gave it
     */
    String semaphoreName();

    /**
     * Tells, without asking the backend, whether everything is surely held at this moment.
     *
     * <p>Local, cheap, never blocks: false after a release or a loss, and false from {@link #validUntil} on, also when the
     * process has just woken from a long pause. A permit that could not be confirmed before that instant is lost for good,
     * whatever the backend would say later. Where the backend takes a slot earlier because of a {@linkplain
     * Guarantees#exposure fault}, this is false within {@link Guarantees#lossNoticeBound}.
     *
     * <p>Validity is counted by {@link System#nanoTime}. While a whole machine is suspended, that clock stands still on Linux and on
     * macOS, and the leases at the backend go on. After that this may be true until the next renewal although another client has the
     * slot. Only the {@linkplain Fence fence} protects a resource then.
     *
     * @return true only if nobody else can have one of the slots now, but for the exposure to such a fault
     */
    boolean isValid();

    /**
     * Returns the instant up to which the backend cannot have given a slot to another, but for the exposure as in {@link
     * #isValid}. It is counted from the sending of the last renewal that the backend confirmed, and moves on with each renewal.
     *
     * @return an instant on this process's monotonic clock, of a group the earliest of its permits; {@link Deadline#NEVER}
     *     where the backend cannot take a slot from a living process; a past one after release or loss, not later than it was before
     */
    Deadline validUntil();

    /**
     * Asks the backend. Blocks for one round trip per permit, at most the {@linkplain Guarantees#callBound operation bound}
     * each; {@link #verifyAsync} does not block.
     *
     * @return what it says; of a group the worst of its permits: lost, else released, else retired, else held. After a
     *     release or a loss answered locally
     * @throws BackendUnavailableException if the backend did not answer; the permit may or may not be held, and
     *     {@link #isValid} goes on telling what is sure
     * @throws SemaphoreException another leaf for what else the backend may say, such as lost rights
     */
    Verification verify();

    /**
     * Asks the backend without blocking the caller.
     *
     * @return completes as {@link #verify} returns or throws, on a thread as for {@link DistributedSemaphore#acquireAsync()}.
     *     Cancelling it has no effect on the permits
     */
    CompletableFuture<Verification> verifyAsync();

    /**
     * Has a listener called when a permit is lost: once for each permit, not after a normal release or close, and at once
     * for one that is lost already. For {@link LossCause#NOT_RENEWED_IN_TIME} it is called when {@link #validUntil} has come,
     * for another cause within {@link Guarantees#lossNoticeBound}.
     *
     * <p>Listeners run on a thread of the client; one that blocks or throws holds up neither other listeners nor renewal. With
     * a {@linkplain SemaphoreClientBuilder#callbackExecutor callbackExecutor} they run there, and one that blocks holds up what
     * else waits for that executor.
     *
     * @param listener called with the news of the loss
     */
    void onLost(Consumer<? super PermitLoss> listener);

    /** Releases what is still held, never throws: a release that cannot be confirmed is logged. Blocks as a release does. */
    @Override
    void close();
}
