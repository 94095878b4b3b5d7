package io.github.distributedsemaphore;

import io.github.distributedsemaphore.guarantees.Capability;
import io.github.distributedsemaphore.guarantees.Guarantees;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Creates, shows, resizes and destroys semaphores. The limit lives in the backend; clients do not state it.
 *
 * <pre>{@code
 * SemaphoreAdmin admin = client.admin();
 * admin.ensure("exports", settings.exportsAtOnce()); // at the start of the program, with the limit from its settings
 * admin.status("exports").ifPresent(now -> log.info("{} of {} exports can start", now.free(), now.limit()));
 * }</pre>
 *
 * <p>Thread-safe. Every call blocks while it asks the backend, for a few round trips and at most the {@linkplain
 * Guarantees#callBound operation bound} for each question. An interrupt ends none of them but {@link #awaitReleased}. All of
 * them throw:
 *
 * <ul>
 *   <li>{@link BackendUnavailableException}: nothing was changed;
 *   <li>{@link OutcomeUnknownException}: it may have been changed, or in part where the backend needs several steps. Repeating the
 *       call finishes it;
 *   <li>{@link BackendAccessException}, {@link IncompatibleStateException} and {@link SemaphoreClosedException} as each of them says;
 *   <li>{@link IllegalArgumentException} for a name or a number out of the range in {@link Guarantees}.
 * </ul>
 */
public interface SemaphoreAdmin {
    /**
     * Creates a semaphore, or finds it there with the same limit.
     *
     * @param name its name
     * @param limit how many slots, at least 1
     * @return true if this call created it
     * @throws LimitConflictException if it exists with another limit; nothing is changed
     */
    boolean create(String name, int limit);

    /**
     * Gives a semaphore a limit, whether it exists or not: creates it, or {@linkplain #resize resizes} it if it has another
     * limit. Takes a few round trips, the fewest where nothing has to change.
     *
     * <p>May be called by any number of clients at the same time. With the same limit they all succeed and change it at most
     * once. With different limits all succeed too, and the last resize decides: let one program name the limit.
     *
     * @param name its name
     * @param limit how many slots it has afterwards, at least 1
     * @return the limit that it had before this call; empty if this call created it
     * @throws NoSuchSemaphoreException if others destroyed it again and again meanwhile
     */
    OptionalInt ensure(String name, int limit);

    /**
     * Shows how full a semaphore is. No side effect; cheaper than {@link #describe} where the backend can count holders without
     * reading them.
     *
     * @param name its name
     * @return empty if there is none
     */
    Optional<SemaphoreStatus> status(String name);

    /**
     * Shows a semaphore and its holders. No side effect.
     *
     * @param name its name
     * @return empty if there is none
     */
    Optional<SemaphoreDescription> describe(String name);

    /**
     * Lists the semaphores of the backend.
     *
     * @return their names in ascending order
     * @throws UnsupportedOperationException if the backend does not declare {@link Capability#LISTING}
     */
    List<String> names();

    /**
     * Changes the limit. Growing wakes waiters. Shrinking removes the highest slots. Once this returns, no client can take
     * them any more. A client that has one may hand it to its own threads for
     * {@link io.github.distributedsemaphore.guarantees.Guarantees#handOffBound()}. Holders keep them,
     * {@link Verification#RETIRED retired}, until release.
     *
     * @param name its name
     * @param limit how many slots from now on, at least 1
     * @throws NoSuchSemaphoreException if there is none
     */
    void resize(String name, int limit);

    /**
     * Removes a semaphore. Waiters end with {@link NoSuchSemaphoreException}; holders keep their slots, retired, until
     * release. If it is created again under the same name, slots that are still held are not granted before they are released.
     *
     * @param name its name
     * @return false if there was none
     */
    boolean destroy(String name);

    /**
     * Waits until no removed slot is held any more. Returns within 100 ms of the end of its time or of an interrupt, also if the
     * backend does not answer then. Rides out an outage as an acquire that waits does: within its own time, and at most for the
     * setting {@code outagePatience} (30 s by default).
     *
     * @param name the name of a semaphore that was shrunk or destroyed
     * @param maxWait the longest wait; zero or negative asks once and waits for the answer
     * @return false if some are still held when the time is over
     * @throws InterruptedException if the thread is interrupted before or while it waits
     * @throws BackendUnavailableException also if the backend did not answer once within the time, or if an outage lasted for
     *     longer than its patience. The message says for how long it tried; nothing was changed
     */
    boolean awaitReleased(String name, Duration maxWait) throws InterruptedException;
}
