package io.github.distributedsemaphore.redis.worklock;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import io.lettuce.core.RedisCommandExecutionException;
import java.util.List;

/** What went wrong at the server or on the way, in the words of the port. */
final class ServerFailures {
    private static final List<String> ACCESS = List.of(
            "NOAUTH", "NOPERM", "WRONGPASS", "DENIED", "ERR AUTH", "ERR Client sent AUTH", "ERR invalid password");

    private ServerFailures() {}

    /**
     * Finds the word for a failure.
     *
     * @param what which key at which server
     * @param changes whether the command that failed may have had an effect
     */
    static SemaphoreException of(String what, Throwable failure, boolean changes) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof RedisCommandExecutionException) {
                return refused(what, String.valueOf(cause.getMessage()), failure);
            }
        }
        String reason = what + ": no answer from Redis (" + reason(failure) + ")";
        return changes
                ? new OutcomeUnknownException(reason + "; it is not known whether the change was made", failure)
                : new BackendUnavailableException(reason + "; nothing was changed", failure);
    }

    private static SemaphoreException refused(String what, String error, Throwable failure) {
        String said = what + ": Redis says '" + error + "'";
        if (ACCESS.stream().anyMatch(error::startsWith)) {
            return new BackendAccessException(
                    said + ": grant the user what docs/backends/redis-work-lock.md lists, or correct the credentials",
                    failure);
        } else if (error.startsWith("WRONGTYPE")) {
            return new IncompatibleStateException(
                    said + ": the key is used for something else; choose another one, nothing was changed", failure);
        }
        return new BackendUnavailableException(said + "; nothing was changed", failure);
    }

    private static String reason(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root.getMessage() == null ? root.getClass().getSimpleName() : root.getMessage();
    }
}
