package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.RedisWire;
import io.github.distributedsemaphore.redis.net.Replies;
import io.github.distributedsemaphore.redis.net.Reply;
import io.github.distributedsemaphore.spi.support.HostAndPort;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The list of names, which says only where to look: whether a semaphore is there it says itself. The list has a key, and in a
 * cluster a node, of its own, so it cannot change together with a semaphore. So that none is missing for good, a name is
 * added before the semaphore is created and once more after that. A client that removes a name looks again afterwards whether
 * the semaphore was created again.
 */
final class RedisNames {
    private static final Logger LOG = LoggerFactory.getLogger(RedisNames.class);
    private static final String WHAT = "The list of semaphores";
    private static final int AT_ONCE = 500;

    private final RedisConnections connections;
    private final String prefix;
    private final String key;

    RedisNames(RedisConnections connections, String prefix) {
        this.connections = connections;
        this.prefix = prefix;
        this.key = RedisLayout.names(prefix);
    }

    void add(String name) {
        change(RedisVerb.SADD, name);
    }

    /** For a semaphore that is there: a failure to list it is none to make it. */
    void addIfPossible(String name) {
        try {
            add(name);
        } catch (SemaphoreException e) {
            LOG.info("Semaphore '{}' may be missing in the list: {}", name, e.getMessage());
        }
    }

    /** As {@link #addIfPossible}, after it was destroyed. */
    void removeIfPossible(RedisLayout layout) {
        try {
            change(RedisVerb.SREM, layout.name());
            if (exists(layout)) {
                add(layout.name());
            }
        } catch (SemaphoreException e) {
            LOG.info("{} may still stand in the list: {}", layout.what(), e.getMessage());
        }
    }

    private void change(RedisVerb verb, String name) {
        // Done twice is done once: an unknown outcome is none.
        connections.look(WHAT, key, (wire, deadline) -> {
            CommandBatch batch = new CommandBatch();
            int done = batch.add(verb, key, name);
            return wire.ask(batch, deadline).get(done);
        });
    }

    private boolean exists(RedisLayout layout) {
        return connections.look(layout.what(), layout.control(), (wire, deadline) -> {
            CommandBatch batch = new CommandBatch();
            int exists = batch.add(RedisVerb.EXISTS, layout.control());
            return wire.ask(batch, deadline).get(exists).number() > 0;
        });
    }

    List<String> list() {
        List<String> listed = connections.look(WHAT, key, (wire, deadline) -> {
            CommandBatch batch = new CommandBatch();
            int members = batch.add(RedisVerb.SMEMBERS, key);
            return wire.ask(batch, deadline).get(members).texts();
        });
        Set<String> left = new LinkedHashSet<>(listed);
        List<String> names = new ArrayList<>();
        while (!left.isEmpty()) {
            String first = control(left.iterator().next());
            List<String> part = connections.look(WHAT, first, (wire, deadline) -> {
                List<String> here = at(wire.server(), left);
                // No name at all: where the first one is has changed meanwhile.
                return here.isEmpty() ? null : existing(here, wire, deadline, left);
            });
            names.addAll(part);
        }
        names.sort(null);
        return names;
    }

    /** Chosen anew for each try: where names are changes with each answer that sends us elsewhere. */
    private List<String> at(HostAndPort server, Set<String> left) {
        return left.stream()
                .filter(name -> connections
                        .serverOf(control(name), connections.callDeadline())
                        .equals(server))
                .limit(AT_ONCE)
                .toList();
    }

    private List<String> existing(List<String> listed, RedisWire wire, Deadline deadline, Set<String> left) {
        CommandBatch batch = new CommandBatch();
        listed.forEach(name -> batch.add(RedisVerb.HGET, control(name), RedisLayout.LIMIT_FIELD));
        Replies replies = wire.ask(batch, deadline);
        listed.forEach(left::remove);
        List<String> names = new ArrayList<>();
        for (int i = 0; i < listed.size(); i++) {
            Reply limit = replies.all().get(i);
            if (!limit.isNil() && limit.error() == null) {
                names.add(listed.get(i));
            }
        }
        return names;
    }

    private String control(String name) {
        return new RedisLayout(prefix, name).control();
    }
}
