package io.github.distributedsemaphore.tck.harness;

import io.github.distributedsemaphore.SemaphoreClient;
import java.util.List;

/** Ways to connect as somebody else (level 5). Thread-safe. */
public interface Accounts {
    /**
     * Returns what nobody may ever see: the passwords, tokens and keys that {@link #connect} and {@link #connectWrongly} use.
     *
     * @return texts that occur nowhere else
     */
    List<String> secrets();

    /**
     * Connects with the right credentials of an account that has no more rights than the documentation asks for.
     *
     * @param spec what the client is to be like
     * @return a new client; the kit closes it
     */
    SemaphoreClient connect(ClientSpec spec);

    /**
     * Connects with credentials that are wrong.
     *
     * @param spec what the client is to be like
     * @return a new client if that is noticed at its first use only; the kit closes it
     * @throws io.github.distributedsemaphore.BackendAccessException if it is noticed at once
     */
    SemaphoreClient connectWrongly(ClientSpec spec);

    /**
     * Connects as an account that may look and may not change anything.
     *
     * @param spec what the client is to be like
     * @return a new client; the kit closes it
     */
    SemaphoreClient connectToLook(ClientSpec spec);
}
