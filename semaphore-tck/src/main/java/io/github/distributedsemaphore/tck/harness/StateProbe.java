package io.github.distributedsemaphore.tck.harness;

import java.util.List;

/**
 * Reads and changes the stored state past the adapter: through a channel of its own, not the adapter's client (level
 * 4). Each method that an author leaves out aborts the rules that need it. Every method returns when its effect is there,
 * and throws if it had none: a fault that did nothing proves nothing.
 */
public interface StateProbe {
    /**
     * Checks the stored state of a semaphore, where the format has sentences that hold at every moment. The kit asks after each
     * test for each semaphore that the test made.
     *
     * @param name a semaphore; it may not exist any more
     * @return what is wrong with it, a sentence each; empty if nothing is, or if this probe damaged it
     */
    default List<String> faults(String name) {
        return List.of();
    }

    /**
     * Reads all that is stored of a semaphore in this process, as an agent or a backup would. By default it does nothing, which is right
     * where reading cannot disturb a client. On files it can: to close one drops the locks that this process has on it.
     *
     * @param name the semaphore
     */
    default void readStored(String name) {}

    /**
     * Removes all that is stored of a semaphore, as an operator or an eviction would.
     *
     * @param name the semaphore
     */
    default void wipe(String name) {
        throw new HookMissingException("StateProbe.wipe");
    }

    /**
     * Removes one holder from the stored state, as an operator would.
     *
     * @param name the semaphore
     * @param slot the slot
     */
    default void removeHolder(String name, int slot) {
        throw new HookMissingException("StateProbe.removeHolder");
    }

    /**
     * Lists the ways in which {@link #corrupt} can damage stored state.
     *
     * @return a word for each; empty if it cannot
     */
    default List<String> corruptions() {
        return List.of();
    }

    /**
     * Damages the stored state of a semaphore.
     *
     * @param name the semaphore
     * @param kind one of {@link #corruptions}
     */
    default void corrupt(String name, String kind) {
        throw new HookMissingException("StateProbe.corrupt");
    }

    /**
     * Makes the epochs of a semaphore go on from a number, where the backend keeps what they are counted from: the next
     * permit of each slot gets this one, or one a little above it.
     *
     * @param name a semaphore of which nobody has had a permit
     * @param epoch the number; it may be below those that the backend would give out itself
     */
    default void plantEpoch(String name, long epoch) {
        throw new HookMissingException("StateProbe.plantEpoch");
    }

    /**
     * Stores slots beyond the limit, as an older or a faulty program may leave them. They go with the semaphore when it is
     * destroyed.
     *
     * @param name a semaphore that nobody holds, whose limit stays as it is
     * @param more how many
     */
    default void plantSlots(String name, int more) {
        throw new HookMissingException("StateProbe.plantSlots");
    }

    /**
     * Puts something foreign where the semaphore of this name would be stored. Where that can be of several types, it is of another
     * one each time.
     *
     * @param name a name that is not in use
     */
    default void occupy(String name) {
        throw new HookMissingException("StateProbe.occupy");
    }

    /**
     * Returns what is stored where {@link #occupy} put something, to see that it is untouched.
     *
     * @param name the name
     * @return its content in any form that can be compared
     */
    default String occupant(String name) {
        throw new HookMissingException("StateProbe.occupant");
    }

    /**
     * Takes away what {@link #occupy} or {@link #corrupt} put.
     *
     * @param name the name
     */
    default void remove(String name) {
        throw new HookMissingException("StateProbe.remove");
    }
}
