package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.OutcomeUnknownException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisConnections;
import io.github.distributedsemaphore.redis.net.RedisErrorException;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.RedisWire;
import io.github.distributedsemaphore.redis.net.Replicas;
import io.github.distributedsemaphore.redis.net.Replies;
import io.github.distributedsemaphore.redis.net.Reply;
import io.github.distributedsemaphore.redis.net.WireException;
import io.github.distributedsemaphore.spi.BackendAdmin;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates, shows and changes semaphores. Every change is one transaction under a watch of the control key, so that two
 * administrators cannot both be right, and that no slot is granted by what was true before.
 */
final class RedisAdmin implements BackendAdmin {
    private static final Logger LOG = LoggerFactory.getLogger(RedisAdmin.class);

    private final RedisConnections connections;
    private final RedisNames names;
    private final String prefix;
    private final Replicas replicas;

    RedisAdmin(RedisConnections connections, RedisSettings settings) {
        this.connections = connections;
        this.prefix = settings.prefix();
        this.names = new RedisNames(connections, prefix);
        this.replicas = settings.replicas(settings.timeout());
    }

    @Override
    public boolean create(String name, int limit) {
        RedisLayout layout = new RedisLayout(prefix, name);
        boolean made = connections.change(
                layout.what(), layout.control(), (wire, deadline) -> create(layout, limit, wire, deadline));
        names.addIfPossible(name);
        return made;
    }

    private @Nullable Boolean create(RedisLayout layout, int limit, RedisWire wire, Deadline deadline) {
        CommandBatch batch = CommandBatch.watching(layout.control(), layout.free(), layout.lives());
        int control = Control.read(batch, layout);
        int all = Control.readAll(batch, layout);
        int time = batch.add(RedisVerb.TIME);
        int free = batch.add(RedisVerb.SMEMBERS, layout.free());
        int lives = batch.add(RedisVerb.ZRANGE, layout.lives(), "0", "-1");
        // Only to find something foreign under the other keys now rather than later.
        int epochs = batch.add(RedisVerb.HLEN, layout.epochs());
        int queue = batch.add(RedisVerb.ZCARD, layout.waiters());
        Replies replies = before(batch, wire, deadline);
        Control found = Control.parse(layout, replies.get(control));
        if (found != null) {
            return confirmed(found, limit, layout, wire, deadline) ? false : null;
        } else if (Control.isForeign(replies.get(all))) {
            throw Control.foreign(layout);
        }
        replies.get(epochs);
        replies.get(queue);
        Set<Integer> present = new HashSet<>(View.slots(layout.free(), replies.get(free)));
        List<String> clients = replies.get(lives).texts();
        CommandBatch watch = new CommandBatch();
        watch.add(RedisVerb.WATCH, clients.stream().map(layout::heldBy).toArray(String[]::new));
        // Holders of an earlier semaphore of that name have slots. Without a control they can only give them back.
        RedisPruning.held(clients, watch, layout, wire, deadline).values().forEach(present::addAll);
        names.add(layout.name());
        if (!wire.isOpen()) {
            // The list may have been asked for on this connection, which closes when the list is elsewhere.
            return null;
        }
        long base = View.micros(replies.get(time)) << 8;
        CommandBatch transaction = making(layout, limit, present, base, wire.history());
        // What holders of an earlier one still have is not to vanish with them any more: see RedisPruning.
        for (String key : layout.keysOfHolders(clients)) {
            transaction.add(RedisVerb.PERSIST, key);
        }
        return commit(transaction, layout, wire, deadline) ? true : null;
    }

    /**
     * Begins the transaction that makes a semaphore.
     *
     * @param present the slots that are in a set already
     */
    private static CommandBatch making(RedisLayout layout, int limit, Set<Integer> present, long base, String server) {
        CommandBatch transaction = new CommandBatch().multi();
        int slots =
                Math.max(limit, present.stream().mapToInt(slot -> slot).max().orElse(0));
        transaction.add(
                RedisVerb.HSET,
                layout.control(),
                RedisLayout.FORMAT_FIELD,
                RedisLayout.FORMAT,
                RedisLayout.LIMIT_FIELD,
                Integer.toString(limit),
                RedisLayout.SLOTS_FIELD,
                Integer.toString(slots),
                RedisLayout.BASE_FIELD,
                Long.toString(base),
                RedisLayout.SERVER_FIELD,
                server);
        addSlots(transaction, layout, 1, slots, present);
        return transaction;
    }

    /**
     * Whether what an earlier call made, with the same limit, counts now. Replicas may not have it: then it is written once more, so that
     * there is something that they can confirm.
     */
    private boolean confirmed(Control found, int limit, RedisLayout layout, RedisWire wire, Deadline deadline) {
        if (found.limit() != limit) {
            throw new LimitConflictException(layout.name(), found.limit(), limit);
        } else if (replicas.needed() == 0) {
            return true;
        }
        CommandBatch transaction = new CommandBatch().multi();
        transaction.add(RedisVerb.HSET, layout.control(), RedisLayout.LIMIT_FIELD, Integer.toString(limit));
        return commit(transaction, layout, wire, deadline);
    }

    /** Adds slots from a number to a number that are in no set yet. */
    private static void addSlots(
            CommandBatch transaction, RedisLayout layout, int first, int last, Set<Integer> present) {
        List<Integer> missing = IntStream.rangeClosed(first, last)
                .filter(slot -> !present.contains(slot))
                .boxed()
                .toList();
        if (!missing.isEmpty()) {
            transaction.add(RedisVerb.SADD, layout.free(), missing);
        }
    }

    @Override
    public void resize(String name, int limit) {
        RedisLayout layout = new RedisLayout(prefix, name);
        connections.change(layout.what(), layout.control(), (wire, deadline) -> {
            CommandBatch batch = CommandBatch.watching(layout.control());
            int control = Control.read(batch, layout);
            int all = Control.readAll(batch, layout);
            Replies replies = before(batch, wire, deadline);
            Control found = Control.parse(layout, replies.get(control));
            if (found == null) {
                if (Control.isForeign(replies.get(all))) {
                    throw Control.foreign(layout);
                }
                throw new NoSuchSemaphoreException("There is no semaphore '" + name + "' to resize: create it");
            }
            CommandBatch transaction = new CommandBatch().multi();
            int slots = Math.max(found.slots(), limit);
            transaction.add(
                    RedisVerb.HSET,
                    layout.control(),
                    RedisLayout.LIMIT_FIELD,
                    Integer.toString(limit),
                    RedisLayout.SLOTS_FIELD,
                    Integer.toString(slots));
            addSlots(transaction, layout, found.slots() + 1, slots, Set.of());
            return commit(transaction, layout, wire, deadline) ? true : null;
        });
    }

    @Override
    public boolean destroy(String name) {
        RedisLayout layout = new RedisLayout(prefix, name);
        boolean destroyed = connections.change(layout.what(), layout.control(), (wire, deadline) -> {
            CommandBatch batch = CommandBatch.watching(layout.control());
            // Not parsed: to destroy is the repair of one that is damaged.
            int all = Control.readAll(batch, layout);
            Reply found = before(batch, wire, deadline).get(all);
            if (Control.isForeign(found)) {
                throw Control.foreign(layout);
            }
            CommandBatch transaction = new CommandBatch().multi();
            if (replicas.needed() > 0 && found.map().isEmpty()) {
                // For replicas to confirm: on a connection that has written nothing each of them counts.
                transaction.add(RedisVerb.HSET, layout.control(), RedisLayout.LIMIT_FIELD, "0");
            }
            transaction.add(RedisVerb.DEL, layout.control(), layout.waiters());
            if (RedisLayout.FORMER_FORMAT.equals(found.map().get(RedisLayout.FORMAT_FIELD))) {
                layout.formerKeys().forEach(key -> transaction.add(RedisVerb.DEL, key));
            }
            if (!commit(transaction, layout, wire, deadline)) {
                return null;
            }
            sweepIfPossible(layout, wire, deadline);
            return !found.map().isEmpty();
        });
        names.removeIfPossible(layout);
        return destroyed;
    }

    /** The semaphore is destroyed by then, whatever becomes of this: a failure must not deny it. */
    private static void sweepIfPossible(RedisLayout layout, RedisWire wire, Deadline deadline) {
        try {
            new RedisPruning(layout, wire).sweep(deadline);
        } catch (RedisErrorException | WireException | SemaphoreException e) {
            LOG.info(
                    "{} is destroyed; what its holders left stays until it is destroyed again: {}",
                    layout.what(),
                    e.getMessage());
        }
    }

    /** Looks before a change, also whether what the change needs afterwards is allowed. */
    private Replies before(CommandBatch batch, RedisWire wire, Deadline deadline) {
        int right = replicas.needed() > 0 ? batch.add(RedisVerb.WAIT, "0", "0") : -1;
        Replies replies = wire.ask(batch, deadline);
        replies.requireWatch();
        if (right >= 0) {
            replies.get(right);
        }
        return replies;
    }

    /** Does a transaction and tells waiting clients. A change that too few replicas have may be gone after a fail-over. */
    private boolean commit(CommandBatch transaction, RedisLayout layout, RedisWire wire, Deadline deadline) {
        transaction.add(RedisVerb.PUBLISH, layout.channelOfAll(), Ledger.Offer.HINT);
        transaction.exec();
        transaction.confirm(replicas);
        Replies replies = wire.ask(transaction, deadline);
        if (!replies.committed()) {
            return false;
        }
        try {
            replies.requireReplicas();
        } catch (RedisErrorException e) {
            throw new OutcomeUnknownException(
                    layout.what() + ": Redis says '" + e.getMessage() + "'; a fail-over may undo the change: repeat it",
                    e);
        }
        return true;
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        RedisLayout layout = new RedisLayout(prefix, name);
        return connections.look(
                layout.what(),
                layout.control(),
                (wire, deadline) -> RedisInspection.read(layout, wire, deadline).describe());
    }

    @Override
    public int retiredHolders(String name) {
        RedisLayout layout = new RedisLayout(prefix, name);
        return connections.look(layout.what(), layout.control(), (wire, deadline) -> {
            RedisInspection seen = RedisInspection.read(layout, wire, deadline);
            if (seen.hasDead()) {
                new RedisPruning(layout, wire).prune(seen.serverMicros(), "", deadline);
                if (!seen.exists()) {
                    new RedisPruning(layout, wire).sweep(deadline);
                }
            }
            return seen.retiredHolders();
        });
    }

    @Override
    public List<String> names() {
        return names.list();
    }
}
