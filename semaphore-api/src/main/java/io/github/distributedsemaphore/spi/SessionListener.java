package io.github.distributedsemaphore.spi;

import java.util.Collection;

/**
 * The engine as a session sees it: what a session tells it of its own accord, and the engine's threads. Thread-safe; the
 * methods return at once and may be called from any thread of the backend, also while a call to the session is under way.
 */
public interface SessionListener {
    /**
     * Some holds are gone.
     *
     * @param holds holds of this session that the backend does not count as held any more
     * @param reason why, for a log; no credentials
     */
    void lost(Collection<Hold> holds, String reason);

    /**
     * The session is gone and all its holds with it, for good. The engine closes it and opens a new one when it needs
     * one.
     *
     * @param reason why, for a log; no credentials
     */
    void ended(String reason);

    /**
     * Runs a task soon on a thread of the engine that may wait, such as the rest of an exchange that {@link
     * BackendSession#start} began and that needs another round trip. The default makes a daemon thread for it.
     *
     * @param task what it throws is logged
     */
    default void execute(Runnable task) {
        Thread thread = new Thread(task, "semaphore-session");
        thread.setDaemon(true);
        thread.start();
    }
}
