package io.github.distributedsemaphore.redis;

import java.util.HashMap;
import java.util.Map;

/** What a server says of itself, where the user may ask. */
final class ServerInfo {
    private final Map<String, String> entries = new HashMap<>();

    ServerInfo(String text) {
        text.lines().forEach(line -> {
            int colon = line.indexOf(':');
            if (colon > 0 && line.charAt(0) != '#') {
                entries.put(line.substring(0, colon), line.substring(colon + 1).strip());
            }
        });
    }

    /** The value of an entry; empty if it is not there, or the user may not ask. */
    String get(String entry) {
        return entries.getOrDefault(entry, "");
    }
}
