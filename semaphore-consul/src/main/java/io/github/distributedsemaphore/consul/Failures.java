package io.github.distributedsemaphore.consul;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;

/** Says in the words of the port what the server or the network did. */
final class Failures {
    private Failures() {}

    /** For a request that changes nothing, or was not sent. */
    static BackendUnavailableException unavailable(String subject, NoReplyException e) {
        return new BackendUnavailableException(subject + ": nothing was done, " + e.getMessage(), e);
    }

    /** For an answer that says that nothing was done, and why. */
    static SemaphoreException refused(String subject, ConsulHttp.Reply reply) {
        if (reply.status() == 401 || reply.status() == 403) {
            return denied(subject, reply.text());
        }
        return new BackendUnavailableException(subject + ": nothing was done, Consul answered " + reply.text(), null);
    }

    static BackendAccessException denied(String subject, String text) {
        return new BackendAccessException(
                subject + ": Consul refused access (" + text
                        + "). The token needs 'write' on the semaphore's key prefix and on sessions",
                null);
    }

    static OutcomeUnknownException unknown(String subject, String text) {
        return new OutcomeUnknownException(subject + ": it is not known whether the request was done: " + text, null);
    }
}
