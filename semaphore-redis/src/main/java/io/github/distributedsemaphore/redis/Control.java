package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.IncompatibleStateException;
import io.github.distributedsemaphore.redis.net.CommandBatch;
import io.github.distributedsemaphore.redis.net.RedisVerb;
import io.github.distributedsemaphore.redis.net.Reply;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What stands in {@link RedisLayout#control}.
 *
 * @param limit how many slots there are
 * @param slots how many slots are in a set, the free ones and the held ones; more than the limit after a shrink
 * @param base what new epochs are counted from
 * @param server the history of the server that the base was chosen at
 * @param changes counts how often somebody touched the key; empty if nobody has
 */
record Control(int limit, int slots, long base, String server, String changes) {
    /** A higher limit would make the set of free slots too big to be written in a call. */
    static final int MAX_LIMIT = 100_000;

    private static final List<String> FIELDS = List.of(
            RedisLayout.FORMAT_FIELD,
            RedisLayout.LIMIT_FIELD,
            RedisLayout.SLOTS_FIELD,
            RedisLayout.BASE_FIELD,
            RedisLayout.SERVER_FIELD,
            RedisLayout.CHANGES_FIELD);

    /** Those that a semaphore has from the beginning. */
    private static final List<String> OWN = FIELDS.subList(0, FIELDS.size() - 1);

    /** Adds the command that {@link #parse} reads the reply of. */
    static int read(CommandBatch batch, RedisLayout layout) {
        return batch.add(RedisVerb.HMGET, layout.control(), FIELDS);
    }

    /** The limit; zero if there is no semaphore. */
    static int limitOf(@Nullable Control control) {
        return control == null ? 0 : control.limit;
    }

    /** Returns null if there is no semaphore. */
    static @Nullable Control parse(RedisLayout layout, Reply reply) {
        List<Reply> fields = reply.list();
        if (fields.subList(0, OWN.size()).stream().allMatch(Reply::isNil)) {
            return null;
        }
        String format = fields.get(0).textOrNull();
        String limit = fields.get(1).textOrNull();
        long known = Reply.digits(fields.get(2).textOrNull());
        String base = fields.get(3).textOrNull();
        String server = fields.get(4).textOrNull();
        String changes = fields.get(5).textOrNull();
        if (RedisLayout.FORMER_FORMAT.equals(format)) {
            throw new IncompatibleStateException(
                    layout.what() + ": the Redis hash " + layout.control() + " has format '" + format
                            + "' of an earlier version, this version knows '" + RedisLayout.FORMAT
                            + "' only; nothing was changed. End the programs that use the earlier version, then destroy the"
                            + " semaphore with this version and create it again with limit " + limit,
                    null);
        }
        if (!RedisLayout.FORMAT.equals(format)) {
            throw damaged(layout, "format '" + format + "', this version knows '" + RedisLayout.FORMAT + "' only");
        }
        long slots = Reply.digits(limit);
        if (slots < 1 || slots > MAX_LIMIT) {
            throw damaged(layout, "limit '" + limit + "', it must be from 1 to " + MAX_LIMIT);
        }
        if (known < slots || known > MAX_LIMIT) {
            throw damaged(layout, "slots '" + known + "', it must be from the limit, " + slots + ", to " + MAX_LIMIT);
        }
        long epochs = Reply.digits(base);
        if (epochs < 0 || server == null) {
            throw damaged(layout, "base '" + base + "' and server '" + server + "', which are no epoch and no run id");
        }
        return new Control((int) slots, (int) known, epochs, server, changes == null ? "" : changes);
    }

    /**
     * Adds the command that {@link #isForeign} reads the reply of. It is one command, because others may create and destroy the
     * semaphore between two.
     */
    static int readAll(CommandBatch batch, RedisLayout layout) {
        return batch.add(RedisVerb.HGETALL, layout.control());
    }

    /** Whether something else is kept under the key. */
    static boolean isForeign(Reply all) {
        Set<String> fields = all.map().keySet();
        return !fields.isEmpty() && OWN.stream().noneMatch(fields::contains);
    }

    static IncompatibleStateException foreign(RedisLayout layout) {
        return new IncompatibleStateException(
                layout.what() + ": the Redis key " + layout.control()
                        + " is there and is no semaphore; nothing was changed. Rename or delete that key",
                null);
    }

    private static IncompatibleStateException damaged(RedisLayout layout, String found) {
        return new IncompatibleStateException(
                layout.what() + ": the Redis hash " + layout.control() + " has " + found
                        + "; nothing was changed. Destroy the semaphore and create it again, or correct the field",
                null);
    }
}
