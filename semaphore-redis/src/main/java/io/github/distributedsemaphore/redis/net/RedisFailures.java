package io.github.distributedsemaphore.redis.net;

import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreException;
import java.security.cert.CertificateException;
import java.util.List;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** What went wrong, in the words of the port. */
public final class RedisFailures {
    private static final List<String> ACCESS = List.of(
            "NOAUTH", "NOPERM", "WRONGPASS", "DENIED", "ERR AUTH", "ERR Client sent AUTH", "ERR invalid password");
    private static final List<String> STATE =
            List.of("WRONGTYPE", "ERR hash value is not", "ERR value is not", "ERR increment or decrement");

    private RedisFailures() {}

    /**
     * For a call that has changed nothing.
     *
     * @param what which semaphore, or what else was asked
     */
    public static RuntimeException certain(String what, RuntimeException failure) {
        if (failure instanceof RedisErrorException refused) {
            return refused(what, refused.error(), refused);
        } else if (failure instanceof WireException) {
            return new BackendUnavailableException(
                    what + ": " + failure.getMessage() + "; nothing was changed", failure);
        }
        return failure;
    }

    /** For a call that may have changed something, unless the failure says that it has not. */
    public static RuntimeException of(String what, RuntimeException failure) {
        return failure instanceof WireException broken && broken.isOutcomeOpen()
                ? uncertain(what, broken)
                : certain(what, failure);
    }

    /** For a call of which nobody knows whether it changed something. */
    public static RuntimeException uncertain(String what, WireException failure) {
        return new OutcomeUnknownException(
                what + ": " + failure.getMessage() + "; it is not known whether the change was made", failure);
    }

    static SemaphoreException refused(String what, String error, @Nullable Throwable cause) {
        String said = what + ": Redis says '" + error + "'";
        if (ACCESS.stream().anyMatch(error::startsWith)) {
            return new BackendAccessException(
                    said + ": grant the user what docs/backends lists for it, or correct the credentials", cause);
        }
        if (STATE.stream().anyMatch(error::startsWith)) {
            return new IncompatibleStateException(
                    said + ": a key is used for something else; rename or delete that key", cause);
        }
        if (error.startsWith("ERR DB index")) {
            return new IncompatibleStateException(
                    said + ": the server has no such database; correct the path of the URI", cause);
        }
        return new BackendUnavailableException(said + "; nothing was changed", cause);
    }

    /** A connection that did not come about. */
    static RuntimeException connecting(String endpoint, Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof RedisErrorException refused) {
                return refused("Connecting to " + endpoint, refused.error(), failure);
            } else if (cause instanceof SemaphoreException known) {
                return known;
            } else if (cause instanceof CertificateException || isAlert(cause)) {
                return new BackendAccessException(
                        "Connecting to " + endpoint + ": TLS says '" + reason(failure)
                                + "': check the settings 'ca', 'certificate' and 'key', and the host's name",
                        failure);
            }
        }
        return new BackendUnavailableException(
                "Cannot connect to Redis at " + endpoint + ": " + reason(failure), failure);
    }

    /** Whether the server does not like what we show it. */
    private static boolean isAlert(Throwable cause) {
        return cause instanceof SSLException
                && String.valueOf(cause.getMessage()).contains("fatal alert");
    }

    /** Whether a connection ended before the server's answer to the first command was known. */
    static boolean isCutInHandshake(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof WireException) {
                return true;
            }
        }
        return reason(failure).contains("closed prematurely");
    }

    private static String reason(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root.getMessage() == null ? root.getClass().getSimpleName() : root.getMessage();
    }
}
