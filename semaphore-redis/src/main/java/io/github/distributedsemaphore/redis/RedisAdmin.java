package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import io.github.distributedsemaphore.LimitConflictException;
import io.github.distributedsemaphore.NoSuchSemaphoreException;
import io.github.distributedsemaphore.SemaphoreDescription;
import io.github.distributedsemaphore.spi.BackendAdmin;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Creates, shows and changes semaphores. Every change is one transaction under a watch of the control key, so that two
 * administrators cannot both be right, and that no slot is granted by what was true before.
 */
final class RedisAdmin implements BackendAdmin {
    private static final int NAMES_AT_ONCE = 500;

    private final ExclusiveWire transactions;
    private final String prefix;

    RedisAdmin(ExclusiveWire transactions, String prefix) {
        this.transactions = transactions;
        this.prefix = prefix;
    }

    @Override
    public boolean create(String name, int limit) {
        RedisLayout layout = new RedisLayout(prefix, name);
        return transactions.change(layout.what(), (wire, deadline) -> create(layout, limit, wire, deadline));
    }

    private @Nullable Boolean create(RedisLayout layout, int limit, RedisWire wire, Deadline deadline) {
        String server = ServerInfo.read(wire, "server", deadline).get("run_id");
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
            return existing(layout, limit, found, wire);
        } else if (replies.get(exists).number() > 0) {
            throw Control.foreign(layout);
        }
        for (int i = time; i <= last; i++) {
            replies.get(i);
        }
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
                server);
        transaction.add(RedisVerb.SADD, RedisLayout.names(prefix), layout.name());
        // What holders of an earlier one still have is not to vanish with them any more: see RedisPruning.
        for (String key : layout.keysOfHolders()) {
            transaction.add(RedisVerb.PERSIST, key);
        }
        return commit(transaction, layout, wire, deadline) ? true : null;
    }

    private boolean existing(RedisLayout layout, int limit, Control found, RedisWire wire) {
        if (found.limit() != limit) {
            throw new LimitConflictException(layout.name(), found.limit(), limit);
        }
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.UNWATCH);
        // The list of names may have been lost.
        batch.add(RedisVerb.SADD, RedisLayout.names(prefix), layout.name());
        wire.tell(batch);
        return false;
    }

    @Override
    public void resize(String name, int limit) {
        RedisLayout layout = new RedisLayout(prefix, name);
        transactions.change(layout.what(), (wire, deadline) -> {
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
        return transactions.change(layout.what(), (wire, deadline) -> {
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
            transaction.add(RedisVerb.SREM, RedisLayout.names(prefix), name);
            if (!commit(transaction, layout, wire, deadline)) {
                return null;
            }
            new RedisPruning(layout, wire).sweep(deadline);
            return found;
        });
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
                (wire, deadline) -> RedisInspection.read(layout, wire, deadline).describe());
    }

    @Override
    public int retiredHolders(String name) {
        RedisLayout layout = new RedisLayout(prefix, name);
        return transactions.look(layout.what(), (wire, deadline) -> {
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
        return transactions.look("The list of semaphores", (wire, deadline) -> {
            CommandBatch batch = new CommandBatch();
            int members = batch.add(RedisVerb.SMEMBERS, RedisLayout.names(prefix));
            List<String> listed = wire.ask(batch, deadline).get(members).list().stream()
                    .map(Reply::text)
                    .sorted()
                    .toList();
            List<String> names = new ArrayList<>();
            for (int from = 0; from < listed.size(); from += NAMES_AT_ONCE) {
                List<String> part = listed.subList(from, Math.min(from + NAMES_AT_ONCE, listed.size()));
                names.addAll(existing(part, wire, deadline));
            }
            return names;
        });
    }

    /** The list says what to look for; whether it is there the semaphore says itself. */
    private List<String> existing(List<String> listed, RedisWire wire, Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        listed.forEach(
                name -> batch.add(RedisVerb.HGET, new RedisLayout(prefix, name).control(), RedisLayout.LIMIT_FIELD));
        Replies replies = wire.ask(batch, deadline);
        List<String> names = new ArrayList<>();
        for (int i = 0; i < listed.size(); i++) {
            Reply limit = replies.all().get(i);
            if (!limit.isNil() && limit.error() == null) {
                names.add(listed.get(i));
            }
        }
        return names;
    }
}
