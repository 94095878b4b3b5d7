package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
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

    static ServerInfo read(RedisWire wire, String section, Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.INFO, section);
        Reply reply = wire.ask(batch, deadline).all().get(0);
        return new ServerInfo(reply.error() == null ? reply.text() : "");
    }

    /** The value of an entry; empty if it is not there, or the user may not ask. */
    String get(String entry) {
        return entries.getOrDefault(entry, "");
    }

    boolean isEmpty() {
        return entries.isEmpty();
    }
}
