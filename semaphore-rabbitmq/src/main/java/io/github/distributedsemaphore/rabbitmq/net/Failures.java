package io.github.distributedsemaphore.rabbitmq.net;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AuthenticationFailureException;
import com.rabbitmq.client.ShutdownSignalException;
import io.github.distributedsemaphore.BackendAccessException;
import io.github.distributedsemaphore.BackendUnavailableException;
import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.SemaphoreException;
import java.io.EOFException;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;

/** Says in the words of the port what the broker and its client library said. */
public final class Failures {
    private Failures() {}

    public static BackendUnavailableException unavailable(String message, @Nullable Throwable cause) {
        return new BackendUnavailableException(message, cause);
    }

    static SemaphoreException notConnected(RabbitSettings settings, Throwable cause) {
        String subject = settings + ", virtual host '" + settings.virtualHost() + "'";
        if (cause instanceof AuthenticationFailureException) {
            return new BackendAccessException(subject + " refused user or password: correct them in the URI", cause);
        }
        // The end of the link during the handshake comes as such an exception, too.
        if (cause instanceof SSLHandshakeException && !(cause.getCause() instanceof EOFException)) {
            return new BackendAccessException(
                    subject + " showed a certificate that is not trusted: " + cause.getMessage()
                            + ". Name the authority by the setting 'ca', and the host as the certificate does",
                    cause);
        }
        ShutdownSignalException signal = signal(cause);
        if (signal != null && signal.getReason() instanceof AMQP.Connection.Close close) {
            int code = close.getReplyCode();
            if (code == AMQP.NOT_ALLOWED || code == AMQP.ACCESS_REFUSED) {
                return new BackendAccessException(
                        subject + " refused the connection: " + close.getReplyText()
                                + ". Create the virtual host, give the user permissions in it, or raise its limits",
                        cause);
            }
        }
        return unavailable(subject + " could not be reached: " + cause, cause);
    }

    public static SemaphoreException denied(RabbitSettings settings, String queue, String text, Throwable cause) {
        return new BackendAccessException(
                settings + " refused '" + queue + "': " + text + ". Grant the permissions on ^"
                        + RabbitSettings.QUEUE_PREFIX + " and to write to ^amq\\.default$",
                cause);
    }

    static SemaphoreException channelLimit(RabbitSettings settings, @Nullable Throwable cause) {
        ShutdownSignalException signal = cause == null ? null : signal(cause);
        return new BackendAccessException(
                settings + " lets us open no more channels"
                        + (signal == null ? "" : ": " + signal.getMessage())
                        + ". Raise its channel_max, or the user's limit; a client needs up to thirty-two on the connection of a"
                        + " semaphore, and on the one for messages and probes one, and two for each semaphore and each call at a time",
                cause);
    }

    /** Whether the broker ended the connection because of something that an operator has to allow. */
    static boolean isNotAllowed(@Nullable ShutdownSignalException signal) {
        return signal != null
                && signal.getReason() instanceof AMQP.Connection.Close close
                && close.getReplyCode() == AMQP.NOT_ALLOWED;
    }

    static SemaphoreException inequivalent(RabbitSettings settings, String queue, String text, Throwable cause) {
        if (words(text).contains("cannot declare")) {
            return new BackendAccessException(
                    settings + " refused to make '" + queue + "': " + text + ". Raise the limit of queues", cause);
        }
        return new IncompatibleStateException(
                settings + ": '" + queue + "' exists and is not a queue of this library: " + text
                        + ". Delete or rename it, or give the semaphore another name; if it is of another setting"
                        + " 'slotQueues', use that",
                cause);
    }

    /** Whether the broker has no such queue, which is another thing than one whose node is down. */
    public static boolean isAbsent(String text) {
        return words(text).contains("no queue");
    }

    /** Whether a stream is there, but not on the node that was asked. */
    public static boolean isWithoutReplica(String text) {
        return words(text).contains("replica");
    }

    /**
     * The words of a refusal without the names in it, which may hold any of the words that are looked for, and quotes. The broker
     * cuts a long text, in the middle of a name perhaps, and then there are points at its end.
     */
    private static String words(String text) {
        int names = text.indexOf('\'');
        if (names < 0) {
            return text;
        }
        String end = text.endsWith("...") ? "" : text.substring(text.lastIndexOf('\'') + 1);
        return text.substring(0, names) + end;
    }

    /** Whether a connection that is there was refused something; else a new one was refused. */
    static boolean isOfChannel(BackendAccessException refusal) {
        ShutdownSignalException signal = signal(refusal);
        return signal != null && signal.getReason() instanceof AMQP.Channel.Close;
    }

    /** Finds what closed a channel or a connection, where the client library may have wrapped it. */
    public static @Nullable ShutdownSignalException signal(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof ShutdownSignalException signal) {
                return signal;
            }
        }
        return null;
    }
}
