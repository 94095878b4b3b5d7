package io.github.distributedsemaphore.tck.harness;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * What the kit wants of a new client. Immutable.
 *
 * @param label what the client calls itself; empty for nothing
 * @param settings further settings by name, as {@link
 *     io.github.distributedsemaphore.SemaphoreClientBuilder#set} takes them
 */
public record ClientSpec(String label, Map<String, String> settings) {
    /**
     * Keeps an unmodifiable copy.
     *
     * @param label see the record
     * @param settings see the record
     */
    public ClientSpec {
        settings = Map.copyOf(settings);
    }

    /**
     * Returns the client of which nothing special is wanted.
     *
     * @return no label, no settings
     */
    public static ClientSpec plain() {
        return new ClientSpec("", Map.of());
    }

    /**
     * Returns the same with a label.
     *
     * @param newLabel the label
     * @return a copy
     */
    public ClientSpec labelled(String newLabel) {
        return new ClientSpec(newLabel, settings);
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
        return new ClientSpec(label, more);
    }
}
