package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.SemaphoreException;
import io.github.distributedsemaphore.spi.BackendAdmin;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates, shows and changes semaphores. Every change is one transaction under a watch of the control key, so that two
 * administrators cannot both be right, and that no slot is granted by what was true before.
 */
final class RedisAdmin implements BackendAdmin {
    private static final Logger LOG = LoggerFactory.getLogger(RedisAdmin.class);

    private final ExclusiveWire transactions;
    private final RedisNames names;
    private final String prefix;

    RedisAdmin(ExclusiveWire transactions, String prefix) {
        this.transactions = transactions;
        this.names = new RedisNames(transactions, prefix);
        this.prefix = prefix;
    }

    @Override
    public boolean create(String name, int limit) {
        RedisLayout layout = new RedisLayout(prefix, name);
        boolean made = transactions.change(
                layout.what(), layout.control(), (wire, deadline) -> create(layout, limit, wire, deadline));
        names.addIfPossible(name);
        return made;
    }

    private @Nullable Boolean create(RedisLayout layout, int limit, RedisWire wire, Deadline deadline) {
        CommandBatch batch = watched(layout);
        int control = Control.read(batch, layout);
        int exists = batch.add(RedisVerb.EXISTS, layout.control());
        int time = batch.add(RedisVerb.TIME);
        // Only to find something foreign under the other keys now rather than later.
        batch.add(RedisVerb.HLEN, layout.holds());
        batch.add(RedisVerb.HLEN, layout.epochs());
        batch.add(RedisVerb.HLEN, layout.members());
        batch.add(RedisVerb.ZSCORE, layout.lives(), RedisPruning.UNFINISHED);
        int last = batch.add(RedisVerb.ZSCORE, layout.waiters(), RedisPruning.UNFINISHED);
        Replies replies = wire.ask(batch, deadline);
        Control found = Control.parse(layout, replies.get(control));
        if (found != null) {
            if (found.limit() != limit) {
                throw new LimitConflictException(layout.name(), found.limit(), limit);
            }
            return false;
        } else if (replies.get(exists).number() > 0) {
            throw Control.foreign(layout);
        }
        for (int i = time; i <= last; i++) {
            replies.get(i);
        }
        names.add(layout.name());
        CommandBatch transaction = new CommandBatch().multi();
        transaction.add(
                RedisVerb.HSET,
                layout.control(),
                RedisLayout.FORMAT_FIELD,
                RedisLayout.FORMAT,
                RedisLayout.LIMIT_FIELD,
                Integer.toString(limit),
                RedisLayout.BASE_FIELD,
                Long.toString(ArmedState.micros(replies.get(time)) << 8),
                RedisLayout.SERVER_FIELD,
                wire.runId());
        // What holders of an earlier one still have is not to vanish with them any more: see RedisPruning.
        for (String key : layout.keysOfHolders()) {
            transaction.add(RedisVerb.PERSIST, key);
        }
        return commit(transaction, layout, wire, deadline) ? true : null;
    }

    @Override
    public void resize(String name, int limit) {
        RedisLayout layout = new RedisLayout(prefix, name);
        transactions.change(layout.what(), layout.control(), (wire, deadline) -> {
            CommandBatch batch = watched(layout);
            int control = Control.read(batch, layout);
            int exists = batch.add(RedisVerb.EXISTS, layout.control());
            Replies replies = wire.ask(batch, deadline);
            if (Control.parse(layout, replies.get(control)) == null) {
                if (replies.get(exists).number() > 0) {
                    throw Control.foreign(layout);
                }
                throw new NoSuchSemaphoreException("There is no semaphore '" + name + "' to resize: create it");
            }
            CommandBatch transaction = new CommandBatch().multi();
            transaction.add(RedisVerb.HSET, layout.control(), RedisLayout.LIMIT_FIELD, Integer.toString(limit));
            return commit(transaction, layout, wire, deadline) ? true : null;
        });
    }

    @Override
    public boolean destroy(String name) {
        RedisLayout layout = new RedisLayout(prefix, name);
        boolean destroyed = transactions.change(layout.what(), layout.control(), (wire, deadline) -> {
            CommandBatch batch = watched(layout);
            // Not parsed: to destroy is the repair of one that is damaged.
            int format = batch.add(RedisVerb.HGET, layout.control(), RedisLayout.FORMAT_FIELD);
            int exists = batch.add(RedisVerb.EXISTS, layout.control());
            Replies replies = wire.ask(batch, deadline);
            boolean found = replies.get(exists).number() > 0;
            if (found && replies.get(format).isNil()) {
                throw Control.foreign(layout);
            }
            CommandBatch transaction = new CommandBatch().multi();
            transaction.add(RedisVerb.DEL, layout.control(), layout.waiters());
            if (!commit(transaction, layout, wire, deadline)) {
                return null;
            }
            sweepIfPossible(layout, wire, deadline);
            return found;
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

    private static CommandBatch watched(RedisLayout layout) {
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.UNWATCH);
        batch.add(RedisVerb.WATCH, layout.control());
        return batch;
    }

    /** Does a transaction and tells those who wait. */
    private static boolean commit(CommandBatch transaction, RedisLayout layout, RedisWire wire, Deadline deadline) {
        transaction.add(RedisVerb.PUBLISH, layout.channelOfAll(), "0");
        transaction.exec();
        return wire.ask(transaction, deadline).committed();
    }

    @Override
    public Optional<SemaphoreDescription> describe(String name) {
        RedisLayout layout = new RedisLayout(prefix, name);
        return transactions.look(
                layout.what(),
                layout.control(),
                (wire, deadline) -> RedisInspection.read(layout, wire, deadline).describe());
    }

    @Override
    public int retiredHolders(String name) {
        RedisLayout layout = new RedisLayout(prefix, name);
        return transactions.look(layout.what(), layout.control(), (wire, deadline) -> {
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
