package io.github.distributedsemaphore.redis;

import io.github.distributedsemaphore.Deadline;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Takes out the dead, on a connection that is lent for it.
 *
 * <p>In two steps, because the hash of holds changes all the time and cannot be watched. First a client whose deadline is past is
 * taken out of {@link RedisLayout#lives}, under a watch of that key, so that a renewal in between saves it. Then whatever is
 * held by a client that is not in there is freed. Everybody who leaves that key touches the control key in the same
 * transaction; so under a watch of the control key, a client that holds a slot and is not alive was taken for dead before, can
 * give back nothing itself any more, and nobody else can have the slot. Broken off in between, {@link #UNFINISHED} makes the next
 * one go on.
 */
final class RedisPruning {
    /** Stands among the living, with a deadline long past, as long as there may be slots of clients that were taken out. */
    static final String UNFINISHED = "-";

    /** For so long after the last deadline the records of a semaphore that was destroyed are kept. */
    private static final long REMAINS_MILLIS = 2_000;

    private static final String MOST_AT_ONCE = "100";

    private final RedisLayout layout;
    private final RedisWire wire;

    RedisPruning(RedisLayout layout, RedisWire wire) {
        this.layout = layout;
        this.wire = wire;
    }

    /**
     * Takes out whose deadline is past.
     *
     * @param serverMicros the server's time, or an earlier one
     * @param except a client that is alive, whatever its deadline says; empty for none
     * @return whether somebody else changed something meanwhile, or slots were freed: whether to look again
     */
    boolean prune(long serverMicros, String except, Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.UNWATCH);
        batch.add(RedisVerb.WATCH, layout.control(), layout.lives());
        int control = Control.read(batch, layout);
        int dead = batch.add(
                RedisVerb.ZRANGEBYSCORE,
                layout.lives(),
                "-inf",
                "(" + serverMicros / 1_000,
                "LIMIT",
                "0",
                MOST_AT_ONCE);
        Replies replies = wire.ask(batch, deadline);
        boolean exists = Control.parse(layout, replies.get(control)) != null;
        List<String> clients = new ArrayList<>(
                replies.get(dead).list().stream().map(Reply::text).toList());
        clients.remove(except);
        clients.remove(UNFINISHED);
        if (!clients.isEmpty()) {
            bury(clients, exists, deadline);
        }
        return freeOrphans(deadline) || !clients.isEmpty();
    }

    private void bury(List<String> clients, boolean exists, Deadline deadline) {
        CommandBatch batch = new CommandBatch().multi();
        touch(batch, exists);
        batch.add(RedisVerb.ZREM, with(layout.lives(), clients));
        batch.add(RedisVerb.ZADD, layout.lives(), "0", UNFINISHED);
        batch.add(RedisVerb.ZREM, with(layout.waiters(), clients));
        batch.add(RedisVerb.HDEL, with(layout.members(), clients));
        batch.exec();
        wire.ask(batch, deadline).committed();
    }

    private boolean freeOrphans(Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.UNWATCH);
        batch.add(RedisVerb.WATCH, layout.control());
        int control = Control.read(batch, layout);
        // In this order: who holds something was alive when it took it.
        int stored = batch.add(RedisVerb.HGETALL, layout.holds());
        int alive = batch.add(RedisVerb.ZRANGE, layout.lives(), "0", "-1");
        Replies replies = wire.ask(batch, deadline);
        Set<String> living = texts(replies.get(alive));
        List<Reply> holds = replies.get(stored).list();
        List<String> orphans = new ArrayList<>();
        for (int i = 0; i + 1 < holds.size(); i += 2) {
            if (!living.contains(HoldValue.clientOf(holds.get(i + 1).text()))) {
                orphans.add(holds.get(i).text());
            }
        }
        if (orphans.isEmpty() && !living.contains(UNFINISHED)) {
            return false;
        }
        CommandBatch transaction = new CommandBatch().multi();
        touch(transaction, Control.parse(layout, replies.get(control)) != null);
        transaction.add(RedisVerb.ZREM, layout.lives(), UNFINISHED);
        if (!orphans.isEmpty()) {
            transaction.add(RedisVerb.HDEL, with(layout.holds(), orphans));
        }
        transaction.exec();
        wire.ask(transaction, deadline).committed();
        return true;
    }

    /**
     * Removes what a semaphore that was destroyed has left: clients that hold nothing, and everything once nobody holds
     * anything. What is left for the holders gets an end a little after the last of them, because nobody may ever look for
     * their death; who lives moves that end on. All that under a watch of the control key: if the semaphore is made anew,
     * nothing is done.
     */
    void sweep(Deadline deadline) {
        CommandBatch batch = new CommandBatch();
        batch.add(RedisVerb.UNWATCH);
        batch.add(RedisVerb.WATCH, layout.control());
        int control = batch.add(RedisVerb.EXISTS, layout.control());
        int stored = batch.add(RedisVerb.HVALS, layout.holds());
        int alive = batch.add(RedisVerb.ZRANGE, layout.lives(), "0", "-1");
        int last = batch.add(RedisVerb.ZRANGE, layout.lives(), "-1", "-1", "WITHSCORES");
        int time = batch.add(RedisVerb.TIME);
        Replies replies = wire.ask(batch, deadline);
        if (replies.get(control).number() > 0) {
            return;
        }
        Set<String> holders = new HashSet<>();
        replies.get(stored).list().forEach(value -> holders.add(HoldValue.clientOf(value.text())));
        Set<String> idle = texts(replies.get(alive));
        idle.removeAll(holders);
        List<Reply> latest = replies.get(last).list();
        long end = Math.max(
                ArmedState.micros(replies.get(time)) / 1_000,
                latest.isEmpty() ? 0 : latest.get(1).score());
        CommandBatch transaction = new CommandBatch().multi();
        if (!idle.isEmpty()) {
            transaction.add(RedisVerb.ZREM, with(layout.lives(), idle));
            transaction.add(RedisVerb.HDEL, with(layout.members(), idle));
        }
        if (holders.isEmpty()) {
            transaction.add(RedisVerb.DEL, layout.epochs(), layout.waiters());
        }
        for (String key : layout.keysOfHolders()) {
            transaction.add(RedisVerb.PEXPIREAT, key, Long.toString(end + REMAINS_MILLIS));
        }
        transaction.exec();
        wire.ask(transaction, deadline).committed();
    }

    /** Makes everybody's watch fail. Where there is no semaphore, nobody decides anything under a watch. */
    private void touch(CommandBatch batch, boolean exists) {
        if (exists) {
            batch.add(RedisVerb.HINCRBY, layout.control(), RedisLayout.CHANGES_FIELD, "1");
        }
    }

    private static Set<String> texts(Reply list) {
        Set<String> texts = new HashSet<>();
        list.list().forEach(reply -> texts.add(reply.text()));
        return texts;
    }

    private static String[] with(String key, Iterable<String> members) {
        Stream.Builder<String> arguments = Stream.builder();
        arguments.add(key);
        members.forEach(arguments::add);
        return arguments.build().toArray(String[]::new);
    }
}
