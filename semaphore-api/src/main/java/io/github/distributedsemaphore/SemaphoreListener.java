package io.github.distributedsemaphore;

/**
 * Is called with what happens at the semaphores of one client, for metrics and traces; see {@link SemaphoreClient#addListener}. Each
 * method does nothing by default.
 *
 * <pre>{@code
 * client.addListener(new SemaphoreListener() {
 *     @Override
 *     public void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {
 *         waits.record(waitedNanos, TimeUnit.NANOSECONDS);
 *     }
 * });
 * }</pre>
 *
 * <p>A method is called after the event, by the thread on which it happened, which may be a caller of the application, and under no
 * lock of the library. Hence it returns at once and must be thread-safe; calls for events of different threads may come in
 * another order than the events. It must not call the library, but for {@link SemaphoreClient#semaphore} and {@link
 * DistributedSemaphore#statistics}: a call that asks the backend can wait for the very thread that it is made on. What it throws
 * changes nothing for anybody else; the first exception of a listener is logged. All durations are in nanoseconds of {@link
 * System#nanoTime}.
 */
public interface SemaphoreListener {
    /**
     * A permit was granted to a call; of a group there is one call for each permit. In the rare case that one of them is lost, or the
     * client is closed, before the call returns, the application gets none of them: {@link #onLost} or {@link #onReleased} follows.
     *
     * @param semaphoreName the semaphore
     * @param slot the slot of the permit, from 1
     * @param waitedNanos how long the call took until then
     * @param handedOff whether the slot came from another thread of the same client, without asking the backend
     */
    default void onAcquired(String semaphoreName, int slot, long waitedNanos, boolean handedOff) {}

    /**
     * A call that does not wait found too few slots free.
     *
     * @param semaphoreName the semaphore
     */
    default void onRefused(String semaphoreName) {}

    /**
     * The time of a call that waited was over before it got what it wanted.
     *
     * @param semaphoreName the semaphore
     * @param waitedNanos how long it waited
     */
    default void onTimedOut(String semaphoreName, long waitedNanos) {}

    /**
     * A call was interrupted, cancelled, or completed by hand before it got what it wanted.
     *
     * @param semaphoreName the semaphore
     * @param waitedNanos how long it waited
     */
    default void onWithdrawn(String semaphoreName, long waitedNanos) {}

    /**
     * A call for permits ended with an exception: the backend was away or refused it, the semaphore is missing, the client was closed.
     * A call that a grant did not reach is not reported here.
     *
     * @param semaphoreName the semaphore
     * @param waitedNanos how long the call took until then
     */
    default void onFailed(String semaphoreName, long waitedNanos) {}

    /**
     * The application gave a permit up, or closed the client that held it, or the permit went back because it did not reach the
     * application. The backend may not have confirmed it yet.
     *
     * @param semaphoreName the semaphore
     * @param slot the slot of the permit
     * @param heldNanos how long it was held; -1 if no listener was there when it was acquired
     */
    default void onReleased(String semaphoreName, int slot, long heldNanos) {}

    /**
     * A permit was lost.
     *
     * @param semaphoreName the semaphore
     * @param slot the slot of the permit
     * @param cause why
     */
    default void onLost(String semaphoreName, int slot, LossCause cause) {}

    /**
     * A request that takes or gives back slots has ended. One request serves many calls.
     *
     * @param semaphoreName the semaphore
     * @param calls how many calls it was to serve
     * @param givenBack how many slots it was to give back
     * @param tookNanos the time from its sending
     * @param answered false if it failed or its outcome is not known yet
     */
    default void onExchange(String semaphoreName, int calls, int givenBack, long tookNanos, boolean answered) {}

    /**
     * A renewal has ended.
     *
     * @param semaphoreName the semaphore
     * @param holds how many slots it was to renew
     * @param tookNanos how long it took
     * @param answered false if it failed; the client tries again
     */
    default void onRenewal(String semaphoreName, int holds, long tookNanos, boolean answered) {}

    /**
     * The client's session at a semaphore ended against its will, and all its permits with it. The client opens a new one when it
     * needs one.
     *
     * @param semaphoreName the semaphore
     */
    default void onSessionEnded(String semaphoreName) {}
}
