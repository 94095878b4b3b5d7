package io.github.distributedsemaphore;

import io.github.distributedsemaphore.internal.Clients;
import io.github.distributedsemaphore.spi.SemaphoreBackend;
import io.github.distributedsemaphore.spi.support.BackendUri;
import io.github.distributedsemaphore.spi.support.Durations;
import java.time.Duration;
import java.util.concurrent.Executor;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/**
 * Settings of a {@link SemaphoreClient}. Each may stand in the URI as well, under the name given here. One that is given twice, in the
 * URI or here, is refused with {@link IllegalArgumentException}. Values are checked at {@link #connect}. Not thread-safe.
 *
 * <pre>{@code
 * SemaphoreClient client = SemaphoreClient.builder("redis://cache.example.org")
 *         .label("nightly export")
 *         .detection(Duration.ofSeconds(20))
 *         .connect();
 * }</pre>
 */
public final class SemaphoreClientBuilder {
    private final BackendUri uri;
    private final @Nullable SemaphoreBackend backend;
    private @Nullable Executor callbacks;

    SemaphoreClientBuilder(String uri) {
        this.uri = BackendUri.parse(uri);
        this.backend = null;
    }

    SemaphoreClientBuilder(SemaphoreBackend backend) {
        this.uri = BackendUri.of(backend.guarantees().backend());
        this.backend = backend;
    }

    /**
     * Says what this client calls itself in descriptions. Setting {@code label}, by default empty. A backend that the
     * application made itself has its label already: {@link #connect} refuses another one.
     *
     * @param label at most 200 characters, no control characters
     * @return this
     */
    public SemaphoreClientBuilder label(String label) {
        return set("label", label);
    }

    /**
     * Sets how long a slot may stay taken after its holder died without a word. Setting {@code detection}; default and
     * bounds are the backend's. Shorter means faster recovery, and less patience with a slow network or a long pause.
     *
     * @param bound the longest
     * @return this
     */
    public SemaphoreClientBuilder detection(Duration bound) {
        return set("detection", Durations.format(bound));
    }

    /**
     * Sets how many times in a row a slot may pass from thread to thread of this client before other clients get a turn.
     * Setting {@code handOffs}, by default 500, from 0 (never) to 10000.
     *
     * @param count how many times
     * @return this
     */
    public SemaphoreClientBuilder handOffs(int count) {
        return set("handOffs", Integer.toString(count));
    }

    /**
     * Sets how long a slot may pass from thread to thread of this client before the backend is asked again. Setting
     * {@code handOffTime}, by default 10 ms, over Consul 25 ms, from 0 to 10 s. The time begins with the answer. It ends after {@code
     * handOffTime}, and at the latest two {@code handOffTime} after the request was sent.
     *
     * @param bound the longest
     * @return this
     */
    public SemaphoreClientBuilder handOffTime(Duration bound) {
        return set("handOffTime", Durations.format(bound));
    }

    /**
     * Sets for how long a call that waits for a permit puts up with a backend that does not answer, within its own time limit.
     * After that it fails with {@link BackendUnavailableException}, or with {@link OutcomeUnknownException} if its own request was
     * sent. Setting {@code outagePatience}, by default 30 s, from 0 (fails as soon as an attempt fails) to a day. Calls that do not
     * wait make one attempt in any case.
     *
     * @param longest the longest
     * @return this
     */
    public SemaphoreClientBuilder outagePatience(Duration longest) {
        return set("outagePatience", Durations.format(longest));
    }

    /**
     * Sets user and password, as an alternative to writing them into the URI. They need no encoding here.
     *
     * @param user the user
     * @param password the password
     * @return this
     * @throws IllegalArgumentException if the URI or an earlier call has given them already; {@link #connect} refuses them for a
     *     backend that has no users
     */
    public SemaphoreClientBuilder credentials(String user, String password) {
        uri.credentials(user, password);
        return this;
    }

    /**
     * Sets what encrypted connections trust, as an alternative to the setting {@code ca}. {@link #connect} refuses managers
     * for a connection that is not encrypted, managers beside {@code ca}, and managers for {@code postgresql:} and {@code jdbc:},
     * whose drivers take files only.
     *
     * @param trust initialised managers
     * @return this
     */
    public SemaphoreClientBuilder trustManagers(TrustManagerFactory trust) {
        uri.managers(trust, null);
        return this;
    }

    /**
     * Sets which certificate encrypted connections show, as an alternative to the settings {@code certificate} and {@code
     * key}. {@link #connect} refuses managers for a connection that is not encrypted, managers beside {@code
     * certificate}, and managers for {@code postgresql:} and {@code jdbc:}, whose drivers take files only.
     *
     * @param identity initialised managers
     * @return this
     */
    public SemaphoreClientBuilder keyManagers(KeyManagerFactory identity) {
        uri.managers(null, identity);
        return this;
    }

    /**
     * Sets which executor runs the application's own code: loss listeners, and tasks and completions of the futures of
     * {@link DistributedSemaphore} and {@link Holding}. By default they run on daemon threads of the client, as many as block at the same moment.
     *
     * <p>The client's own work, such as renewals, never runs there, nor do the interrupts of {@link InterruptOnLoss}, so a slow executor
     * delays callbacks only. A permit that was granted to a future is held, and renewed, from its grant on, also while the completion of
     * the future waits for the executor. If the future is cancelled meanwhile the permit goes back. A
     * callback that the executor refuses runs on a thread of the client.
     *
     * @param executor the executor, which the application shuts down itself after the client
     * @return this
     */
    public SemaphoreClientBuilder callbackExecutor(Executor executor) {
        callbacks = executor;
        return this;
    }

    /**
     * Sets a setting by name, such as one that only one backend has.
     *
     * @param name its name as in a URI
     * @param value its value as in a URI
     * @return this
     * @throws IllegalArgumentException if it is given already
     */
    public SemaphoreClientBuilder set(String name, String value) {
        uri.set(name, value);
        return this;
    }

    /**
     * Makes the client, as {@link SemaphoreClient#connect} does: it asks no server, reads the files that settings name, and over {@code
     * local:} makes and checks the directory. May be called once.
     *
     * @return the client
     * @throws IllegalArgumentException as {@link SemaphoreClient#connect}
     * @throws BackendAccessException as {@link SemaphoreClient#connect}
     * @throws IncompatibleStateException as {@link SemaphoreClient#connect}
     */
    public SemaphoreClient connect() {
        return backend == null ? Clients.connect(uri, callbacks) : Clients.over(backend, uri, callbacks);
    }
}
