package io.github.distributedsemaphore.tck.cluster;

import java.util.ArrayList;
import java.util.List;

/**
 * A host of a {@link Network}. Its processes see no other network: each host may use the same ports. Immutable.
 *
 * @param name what it is called
 * @param namespace its network namespace
 * @param address its IPv4 address
 * @param link what the router calls the link to it
 */
public record Host(String name, String namespace, String address, String link) {
    /**
     * Returns the command that runs another one on this host. The process keeps the id of the one that was started.
     *
     * @param words the command
     * @return its words, with those before them that enter the host
     */
    public List<String> command(List<String> words) {
        List<String> all = new ArrayList<>(List.of("ip", "netns", "exec", namespace));
        all.addAll(words);
        return all;
    }
}
