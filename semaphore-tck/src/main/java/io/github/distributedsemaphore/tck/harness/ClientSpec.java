package io.github.distributedsemaphore.tck.harness;

import io.github.distributedsemaphore.SemaphoreClientBuilder;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.regex.Pattern;

/**
 * What the kit wants of a new client. Immutable.
 *
 * @param label what the client calls itself; empty for nothing
 * @param settings further settings by name, as {@link
 *     io.github.distributedsemaphore.SemaphoreClientBuilder#set} takes them
 * @param callbacks what {@link SemaphoreClientBuilder#callbackExecutor} takes; empty for the client's own threads. A client in another
 *     process cannot have one
 */
public record ClientSpec(String label, Map<String, String> settings, Optional<Executor> callbacks) {
    /**
     * Keeps an unmodifiable copy.
     *
     * @param label see the record
     * @param settings see the record
     * @param callbacks see the record
     */
    public ClientSpec {
        settings = Map.copyOf(settings);
    }

    /**
     * Returns the client of which nothing special is wanted.
     *
     * @return no label, no settings, no executor
     */
    public static ClientSpec plain() {
        return new ClientSpec("", Map.of(), Optional.empty());
    }

    /**
     * Returns the same with a label.
     *
     * @param newLabel the label
     * @return a copy
     */
    public ClientSpec labelled(String newLabel) {
        return new ClientSpec(newLabel, settings, callbacks);
    }

    /**
     * Leaves out of a URI what is set here, because no setting may be given twice.
     *
     * @param uri the URI
     * @return the URI without those of its settings that are given here
     */
    public String without(String uri) {
        String left = uri;
        for (String name : settings.keySet()) {
            left = left.replaceAll("(?<=[?&])" + Pattern.quote(name) + "=[^&]*&?", "");
        }
        return left.replaceAll("[?&]$", "");
    }

    /**
     * Returns the same with one more setting.
     *
     * @param name its name
     * @param value its value
     * @return a copy
     */
    public ClientSpec with(String name, String value) {
        Map<String, String> more = new LinkedHashMap<>(settings);
        more.put(name, value);
        return new ClientSpec(label, more, callbacks);
    }

    /**
     * Returns the same with an executor for callbacks.
     *
     * @param executor runs what the test passes to the client
     * @return a copy
     */
    public ClientSpec callingBackOn(Executor executor) {
        return new ClientSpec(label, settings, Optional.of(executor));
    }

    /**
     * Gives a builder all that is wanted.
     *
     * @param builder over a URI that does not have these settings, see {@link #without}
     * @return the builder
     */
    public SemaphoreClientBuilder applyTo(SemaphoreClientBuilder builder) {
        if (!label.isEmpty()) {
            builder.label(label);
        }
        settings.forEach(builder::set);
        callbacks.ifPresent(builder::callbackExecutor);
        return builder;
    }
}
