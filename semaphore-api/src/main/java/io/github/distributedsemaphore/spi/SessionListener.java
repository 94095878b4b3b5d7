package io.github.distributedsemaphore.spi;

import java.util.Collection;

/**
 * What a session tells its engine of its own accord. Thread-safe; the methods return at once and may be called from any
 * thread of the backend, also while a call to the session is under way.
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
}
